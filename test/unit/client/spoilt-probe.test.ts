import { equal, match, rejects } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, RpcError } from "bowline/client";

/** A bridge that shakes hands with its server itself when the first message is no handshake, and can do so once only. */
const bridge = `
  require("node:fs").appendFileSync(process.argv[1], "start ");
  const result = (version) => ({ protocolVersion: version, capabilities: {}, serverInfo: { name: "far", version: "1" } });
  const error = { code: -32600, message: "already initialized" };
  let open = false;
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const refuses = open || method !== "initialize" || process.argv[2] === "always";
    open = true;
    const answer = refuses ? { error } : { result: result(params.protocolVersion) };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
  });`;

function bridgeIn(t: TestContext, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "log");
  return {
    target: { command: process.execPath, args: ["-e", bridge, log, ...args] },
    starts: () => readFileSync(log, "utf8"),
  };
}

test("a process that the probe has spoilt is started again for the handshake", async (t) => {
  const { target, starts } = bridgeIn(t);
  const client = await connect(target);
  t.after(() => client.close());
  equal(client.version, "2025-11-25");
  equal(client.server.info?.name, "far");
  equal(starts(), "start start ");
});

test("a process that refuses the handshake when it comes first is not started a third time", async (t) => {
  const { target, starts } = bridgeIn(t, "always");
  await rejects(connect(target), (error) => {
    equal(error instanceof RpcError, true);
    match(String(error), /already initialized/);
    return true;
  });
  equal(starts(), "start start ");
});

test("a process that was not probed is started once, whatever it answers", async (t) => {
  const { target, starts } = bridgeIn(t, "always");
  await rejects(connect(target, { era: "legacy" }), { name: "RpcError", message: "already initialized" });
  equal(starts(), "start ");
});
