import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGroup } from "bowline/client";
import { readServers } from "bowline/node";

/**
 * A host that presents all servers of a configuration file as one catalogue: `node examples/dist/host.js [file]`. One of the
 * servers does not start. It is reported and does not delay the others.
 */
const examples = fileURLToPath(new URL("..", import.meta.url));
const [file = join(examples, "servers.json")] = process.argv.slice(2);
const say = (text: string) => void process.stdout.write(`${text}\n`);

const group = createGroup(await readServers(file), {
  variables: { ...process.env, EXAMPLES: examples },
  client: { timeoutMs: 10_000, onElicit: () => ({ action: "decline" }) },
  process: (server) => ({ stderr: (line) => say(`${server} says: ${line}`) }),
});

const tools = group.tools();
for await (const { name, server, description } of tools) say(`${name} of ${server}: ${description}`);
for (const [server, error] of tools.failures) say(`${server} is left out: ${error.message}`);

await group.callTool("notes__write", { name: "berth", text: "The Aurora is at the north berth." });
const { structured } = await group.callTool("notes__find", { words: "Aurora" });
say(JSON.stringify(structured));
const { contents } = await group.readResource("notes", "note://berth");
for (const part of contents) if ("text" in part) say(part.text);

const { text, isError } = await group.callTool("notes__find", { words: "Borealis" });
say(`${isError ? "the tool says" : "found"}: ${text}`);
const lost = await group.callTool("lost__anything").catch((error: unknown) => error);
say(`calling it anyway: ${lost}`);
await group.close(); // ends every process and connection
