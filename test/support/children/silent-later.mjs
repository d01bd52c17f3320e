// A server that shakes hands when it is started for the first time; later it tells its pid on stderr and answers nothing.
// Argument: the path of a file that does not exist yet.
import { existsSync, writeFileSync } from "node:fs";

const isLater = existsSync(process.argv[2]);
if (isLater) process.stderr.write(`silent ${process.pid}\n`);
else writeFileSync(process.argv[2], "");
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  if (!isLater) for (const line of lines) respond(JSON.parse(line));
});

function respond({ id, method, params }) {
  if (method === "tools/call") process.exit(7);
  if (method !== "initialize") return;
  const { protocolVersion } = params;
  const result = { protocolVersion, capabilities: {}, serverInfo: { name: "silent-later", version: "1" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
