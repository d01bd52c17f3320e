import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { EndedCalls } from "#src/era/legacy/server/calls.js";
import { answer, LegacyEndpoint, messages, settle, status, textOf } from "../../../../support/legacy-endpoint.js";

test("the calls that ended last are known by either spelling of their ids", () => {
  const ended = new EndedCalls();
  ended.add(7);
  ended.add("b");
  deepEqual(
    [7, "7", "07", "b"].map((id) => ended.has(id)),
    [true, true, false, true],
  );
  for (let id = 100; id < 162; id++) ended.add(id);
  equal(ended.has(7), true);
  ended.add(162);
  deepEqual(
    [7, "b", 162].map((id) => ended.has(id)),
    [false, true, true],
  );
});

test("an ended call with a long id is not remembered", () => {
  const ended = new EndedCalls();
  for (const length of [128, 129]) ended.add("x".repeat(length));
  equal(ended.has("x".repeat(128)), true);
  equal(ended.has("x".repeat(129)), false);
});

test("a server runs a call whose id an earlier one had, whatever comes late about that", async () => {
  const endpoint = new LegacyEndpoint();
  endpoint.server.tool("echo", {}, () => "here");
  const client = await endpoint.open();
  equal(textOf(await answer(client.call("x", "echo"))), "here");
  await status(client.cancel("x"), 202);
  equal(textOf(await answer(client.call("x", "echo"))), "here");
  await status(client.cancel("9"), 202);
  const overtaken = client.call(9, "echo");
  await overtaken.done;
  await settle();
  deepEqual(messages(overtaken), []);
});
