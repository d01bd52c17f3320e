import { oauth } from "bowline/auth/client";
import { connect } from "bowline/client";
import { fileStore, openLoopback } from "bowline/node";

/**
 * Logs in to a protected server with the browser of this machine and lists its tools: `node dist/login.js
 * https://example.com/mcp`. The next start uses the tokens of the file, so no login is needed. TOKENS_SECRET encrypts them.
 */
const { TOKENS_SECRET = "" } = process.env;
const [server = ""] = process.argv.slice(2);

const loopback = await openLoopback();
const auth = oauth({
  ...loopback,
  clientName: "bowline example",
  store: fileStore("tokens", TOKENS_SECRET),
});
const client = await connect(server, auth);
for await (const tool of client.tools()) process.stdout.write(`${tool.name}\n`);
await client.close();
await loopback.close();
