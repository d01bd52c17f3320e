import { deepEqual } from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createStdioServerChannel } from "bowline/node";
import { image, McpServer } from "bowline/server";

const me = { name: "s", version: "1.0.0" };
const calls = [
  ["tools/call", { name: "draw" }],
  ["tools/call", { name: "count", arguments: { from: 1 } }],
  ["mine/own", {}],
] as const;

/** Alone in its file: in a fresh process nothing of what serves a call has been loaded by another. */
test("an input that ends right behind its questions has them answered, whatever they are the first to need", async () => {
  const server = new McpServer(me)
    .tool("draw", {}, () => image("aGk=", "image/png"))
    .tool("count", { input: { type: "object", properties: { from: { type: "integer" } } } }, ({ from }) => `${from}`)
    .method("mine/own", {}, () => ({ mine: true }));
  const [input, output] = [new PassThrough(), new PassThrough()];
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me };
  const lines = [
    { jsonrpc: "2.0", id: 0, method: "initialize", params },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    ...calls.map(([method, params], index) => ({ jsonrpc: "2.0", id: index + 1, method, params })),
  ];
  input.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const served = await server.accept(createStdioServerChannel({ input, output }));
  const said = text(output);
  // The end of a pipe is read in the turn after the last bytes.
  setImmediate(() => input.end());
  await served.closed;
  output.end();
  const answers = (await said)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  deepEqual(
    answers.map(({ id, error }) => [id, error]),
    [0, 1, 2, 3].map((id) => [id, undefined]),
  );
});
