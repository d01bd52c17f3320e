// An MCP server whose tool notes in a file that it has begun, tells so on stderr, and never ends by itself. Arguments: the
// file; "stdio", or the port to serve HTTP at, 0 for a free one, which is told on stderr too.
import { appendFileSync } from "node:fs";
import { serveHttp, serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";

const [file, wire] = process.argv.slice(2);
const tell = (text) => process.stderr.write(`${text}\n`);
const server = new McpServer({ name: "worker", version: "1.0.0" }, { http: { resumable: true } }).tool(
  "work",
  { input: { type: "object" } },
  async ({ call }, ctx) => {
    appendFileSync(file, `begin ${call}\n`);
    tell(`begin ${call}`);
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve, { once: true }));
  },
);

tell(`pid ${process.pid}`);
if (wire === "stdio") await serveStdio(server);
else tell(`port ${(await serveHttp(server, { port: Number(wire) })).port}`);
