// A scripted server that tells on stderr what it reads: each line, and "rest" with the bytes after the last one. Arguments:
// "modern" | "legacy": how it answers; then any of "deaf-to-end" (outlives the end of its input), "deaf-to-term", "silent"
// (answers nothing), "old" (answers the handshake with an unknown version), "slow-exit" (lives on for a moment),
// "flood" (writes a megabyte at the end of its input), "early" (writes to both outputs before it reads).
import { closeSync } from "node:fs";

const manners = process.argv.slice(2);
const is = (manner) => manners.includes(manner);
const tell = (text) => process.stderr.write(`${text}\n`);
const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);

function respond({ id, method, params }) {
  if (id === undefined || is("silent")) return;
  if (method === "initialize") {
    const protocolVersion = is("old") ? "1999-01-01" : params.protocolVersion;
    return answer(id, { protocolVersion, capabilities: {}, serverInfo: { name: "recorder", version: "1" } });
  }
  if (params?.name === "never") return;
  if (params?.name === "mute") return closeSync(1);
  if (params?.name === "hang") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (params?.name === "exit") process.exit(params.arguments.code);
  const result = { content: [{ type: "text", text: String(process.pid) }] };
  answer(id, is("modern") ? { ...result, resultType: "complete" } : result);
}

if (is("early")) {
  process.stderr.write("early words\n");
  process.stdout.write("garbage before the first message\n");
}
process.on("SIGTERM", () => {
  tell("SIGTERM");
  if (!is("deaf-to-term")) process.exit(0);
});
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    tell(`> ${line}`);
    respond(JSON.parse(line));
  }
});
process.stdin.on("end", () => {
  tell(`rest ${rest.length}`);
  if (is("flood")) process.stdout.write(`${"x".repeat(1023)}\n`.repeat(1024), () => tell("flooded"));
  if (is("slow-exit")) setTimeout(() => {}, 50);
});
if (is("deaf-to-end") || is("deaf-to-term")) setInterval(() => {}, 1 << 30);
