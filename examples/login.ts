import { createOAuth } from "bowline/auth/client";
import { connect } from "bowline/client";
import { createFileStore, openLoopback } from "bowline/node";

/**
 * `node dist/login.js https://example.com/mcp`: logs in to a protected server with the browser on this machine and lists its
 * tools. The next start finds the tokens in the file and asks nobody. TOKENS_SECRET is the secret that they are kept with.
 */
const { TOKENS_SECRET = "" } = process.env;
const [server = ""] = process.argv.slice(2);

const loopback = await openLoopback();
const auth = createOAuth({
  ...loopback,
  clientName: "bowline example",
  store: createFileStore("tokens", TOKENS_SECRET),
});
await using client = await connect(server, auth);
for await (const tool of client.tools()) process.stdout.write(`${tool.name}\n`);
await loopback.close();
