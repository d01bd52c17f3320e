import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { createArrayExchange } from "bowline/testing";

test("an exchange has the request that was given, and defaults for the rest", async () => {
  const plain = createArrayExchange();
  deepEqual([plain.method, plain.url, plain.header("host"), await plain.text(0)], ["POST", "/mcp", "localhost", ""]);
  const auth = { subject: "a" };
  const given = createArrayExchange({
    method: "GET",
    url: "/x",
    headers: { host: undefined, a: "1" },
    auth,
    principal: "p",
  });
  deepEqual([given.method, given.url, given.header("host"), given.header("a")], ["GET", "/x", undefined, "1"]);
  deepEqual([given.auth, given.principal], [auth, "p"]);
});

test("a body may have exactly as many bytes as the limit says", async () => {
  const body = "é".repeat(5);
  equal(await createArrayExchange({ body }).text(10), body);
  await rejects(createArrayExchange({ body }).text(9), { name: "BodyTooLarge" });
});

test("an answer is whole, comes once, and has no body where the status has none", async () => {
  const exchange = createArrayExchange();
  equal(exchange.answered, false);
  exchange.reply(200, { a: "1" }, "text");
  deepEqual([exchange.answered, exchange.status, exchange.headers, exchange.body()], [true, 200, { a: "1" }, "text"]);
  await exchange.done;
  throws(() => exchange.reply(500, {}), /answered twice: with status 200, then with 500/);
  const empty = createArrayExchange();
  empty.reply(204, {}, "text");
  deepEqual(empty.chunks, []);
  const none = createArrayExchange();
  none.reply(202, {});
  deepEqual(none.chunks, []);
});

test("a client that leaves is told of once, later to those who ask then, and never after the answer", async () => {
  const told: string[] = [];
  const exchange = createArrayExchange();
  exchange.onGone(() => told.push("before"));
  const stream = exchange.stream(200, {});
  stream.write("1");
  exchange.disconnect();
  exchange.disconnect();
  exchange.onGone(() => told.push("after"));
  deepEqual(told, ["before"]);
  await Promise.resolve();
  deepEqual(told, ["before", "after"]);
  stream.write("2");
  deepEqual(exchange.chunks, ["1"]);
  await exchange.done;
  exchange.reply(200, {}, "late");
  deepEqual(exchange.chunks, ["1"]);
  const answered = createArrayExchange();
  answered.onGone(() => told.push("answered"));
  answered.reply(200, {});
  answered.onGone(() => told.push("answered"));
  answered.disconnect();
  throws(() => answered.reply(200, {}), /answered twice/);
  await new Promise(setImmediate);
  deepEqual(told, ["before", "after"]);
});

test("a reader that has stopped is waited for, until it goes on or the answer ends", async () => {
  const exchange = createArrayExchange();
  const stream = exchange.stream(200, {});
  const drained: string[] = [];
  equal(stream.write("1"), true);
  stream.onDrain(() => drained.push("at once"));
  await Promise.resolve();
  exchange.pause();
  equal(stream.write("2"), false);
  stream.onDrain(() => drained.push("resumed"));
  await Promise.resolve();
  deepEqual(drained, ["at once"]);
  exchange.resume();
  deepEqual(drained, ["at once", "resumed"]);
  exchange.pause();
  stream.onDrain(() => drained.push("ended"));
  stream.end();
  deepEqual(drained, ["at once", "resumed", "ended"]);
  equal(stream.write("late"), true);
  deepEqual(exchange.chunks, ["1", "2"]);
});
