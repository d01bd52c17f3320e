import { deepEqual, equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { child, connectChild } from "../../support/server-child.js";
import { proves } from "../../support/verifies.js";

/** Starts the program and says lines to it; resolves with each line that it answers. */
function start(t: TestContext) {
  const { command, args } = child("mcp-server");
  const running = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  t.after(async () => {
    running.stdin.end();
    if (running.exitCode === null && running.signalCode === null) await once(running, "exit");
  });
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]();
  return async (message: { readonly id?: number; readonly method: string; readonly params?: object }) => {
    running.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    return message.id === undefined ? "" : String((await lines.next()).value);
  };
}

const call = { name: "add", arguments: { a: 2, b: 3 } };
const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const MODERN_WORDS = /io\.modelcontextprotocol|resultType|ttlMs|cacheScope|2026-07-28|supportedVersions/;

for (const era of ["modern", "legacy"] as const) {
  proves(
    "typescript:transport:stdio:dual-era-serving",
    { wire: `${era}-stdio` },
    "one program serves both kinds of clients",
    async (t) => {
      for (const spoken of ["modern", "legacy"] as const) {
        const { client } = await connectChild(t, spoken, child("mcp-server"));
        equal(client.era, spoken);
        equal((await client.callTool("add", { a: 2, b: 3 })).text, "5");
      }
    },
  );
}

proves(
  "typescript:transport:stdio:dual-era-serving",
  { wire: "legacy-stdio" },
  "who shakes hands reads no word of the other era",
  async (t) => {
    const say = start(t);
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const lines = [await say({ id: 1, method: "initialize", params })];
    await say({ method: "notifications/initialized" });
    lines.push(await say({ id: 2, method: "tools/list" }));
    lines.push(await say({ id: 3, method: "tools/call", params: call }));
    deepEqual(
      lines.map((line) => MODERN_WORDS.exec(line)?.[0]),
      [undefined, undefined, undefined],
    );
    equal(JSON.parse(lines[2] as string).result.content[0].text, "5");
  },
);

proves(
  "typescript:transport:stdio:dual-era-serving",
  { wire: "modern-stdio" },
  "who opens with an envelope is served at once",
  async (t) => {
    const say = start(t);
    const line = await say({ id: 1, method: "tools/call", params: { ...call, _meta: envelope } });
    const { result } = JSON.parse(line);
    deepEqual([result.resultType, result.content[0].text], ["complete", "5"]);
  },
);
