import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { readEnvelope, readImplementation } from "#src/era/modern/envelope.js";
import { Refusal } from "#src/protocol/jsonrpc/errors.js";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const LEVEL = "io.modelcontextprotocol/logLevel";
const INFO = "io.modelcontextprotocol/clientInfo";
const good = { [VERSION]: "2026-07-28", [CAPABILITIES]: {} };

test("a refusal names the member of the envelope, and the kind of value that it must be", () => {
  const message = (_meta: unknown) => {
    const outcome = readEnvelope({ _meta } as never);
    ok(outcome instanceof Refusal);
    equal(outcome.code, "rpc_error");
    equal(outcome.rpcCode, -32602);
    return outcome.message.replace(/^.*?(?=_meta)/, "");
  };
  equal(message("text"), "_meta must be an object");
  equal(message({}), `_meta["${VERSION}"] must be a protocol version`);
  equal(message({ [VERSION]: "x" }), `_meta["${CAPABILITIES}"] must be an object of client capabilities`);
  equal(message({ ...good, [LEVEL]: "loud" }), `_meta["${LEVEL}"] must be a log level`);
  const token = "_meta.progressToken must be a string or an integer within ±9007199254740991";
  for (const progressToken of [1.5, 2 ** 53]) equal(message({ ...good, progressToken }), token);
});

test("an envelope is read with what it may leave out", () => {
  const plain = { version: "2026-07-28", capabilities: {}, info: undefined, logLevel: undefined };
  deepEqual(readEnvelope({ _meta: good }), { ...plain, progressToken: undefined });
  const info = { name: "a", version: "1" };
  const full = { ...good, [LEVEL]: "error", [INFO]: info, progressToken: 0 };
  deepEqual(readEnvelope({ _meta: full }), { ...plain, info, logLevel: "error", progressToken: 0 });
  for (const broken of [null, "a", { name: "a" }, { version: "1" }, { name: 1, version: "1" }]) {
    equal(readImplementation(broken), undefined);
  }
});

test("a server that has refused its first request reports that nothing is open", async (t) => {
  const server = new McpServer({ name: "s", version: "1" });
  t.after(() => server.close());
  equal((await server.fetch(new Request("http://localhost/mcp", { method: "PUT" }))).status, 405);
  const { openRequests, sessions, streams, running } = server.stats();
  deepEqual([openRequests, sessions, streams, running], [0, 0, 0, 0]);
});
