import { pathToFileURL } from "node:url";
import { createGroup } from "bowline/client";
import { readServers } from "bowline/node";

// Lists the tools of all servers of mcp.json. A server that does not start delays no other.
if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const group = createGroup(await readServers(process.argv[2] ?? "mcp.json"), { variables: process.env });
  const tools = group.tools();
  for await (const { name, description = "" } of tools) console.log(`${name}: ${description}`);
  for (const [server, error] of tools.failures) console.error(`${server} is left out: ${error.message}`);
  await group.close();
}
