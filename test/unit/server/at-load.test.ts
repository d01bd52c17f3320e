import assert from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server";

/** Workers refuse these until the first request comes, and the place for a server is the module's top level. */
test("making a server takes no random bytes and sets no timer", (t) => {
  const refuse = () => {
    throw new Error("not while a module is loaded");
  };
  const bytes = t.mock.method(crypto, "getRandomValues", refuse);
  const id = t.mock.method(crypto, "randomUUID", refuse);
  const timer = t.mock.method(globalThis, "setTimeout", refuse);
  const interval = t.mock.method(globalThis, "setInterval", refuse);
  new McpServer({ name: "worker", version: "1.0.0" })
    .tool("echo", {}, () => "here")
    .resource("note://1", { name: "note" }, () => "a note");
  const calls = [bytes, id, timer, interval].map(({ mock }) => mock.callCount());
  t.mock.restoreAll();
  assert.deepEqual(calls, [0, 0, 0, 0]);
});
