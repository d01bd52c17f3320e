import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { BodyTooLarge } from "#src/http/body-failure.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";

describe("array exchange", () => {
  it("gives the request and lays the answer open", async () => {
    const exchange = createArrayExchange({
      url: "/a",
      headers: { accept: "*/*" },
      body: { a: "\u00e9" },
      auth: { subject: "a" },
    });
    deepEqual([exchange.method, exchange.url, exchange.auth], ["POST", "/a", { subject: "a" }]);
    deepEqual([exchange.header("host"), exchange.header("accept")], ["localhost", "*/*"]);
    equal(await exchange.text(10), '{"a":"\u00e9"}');
    await rejects(exchange.text(9), BodyTooLarge);
    equal(exchange.status, undefined);
    exchange.reply(200, { "x-a": "1" }, "hi");
    await exchange.done;
    deepEqual(
      [exchange.status, exchange.headers, exchange.chunks, exchange.body()],
      [200, { "x-a": "1" }, ["hi"], "hi"],
    );
    throws(() => exchange.reply(500, {}), /answered twice: with status 200, then with 500/);
  });

  it("streams, and holds the writer back while paused", async () => {
    const exchange = createArrayExchange();
    const stream = exchange.stream(200, {});
    equal(stream.write("a"), true);
    exchange.pause();
    equal(stream.write("b"), false);
    const drained = new Promise<void>((resolve) => stream.onDrain(resolve));
    exchange.resume();
    await drained;
    stream.end();
    equal(stream.write("late"), true);
    await exchange.done;
    deepEqual(exchange.chunks, ["a", "b"]);
  });

  it("tells once that the client has gone, frees a waiting writer, and takes no more", async () => {
    const exchange = createArrayExchange();
    let count = 0;
    exchange.onGone(() => count++);
    const stream = exchange.stream(200, {});
    exchange.pause();
    stream.write("a");
    const drained = new Promise<void>((resolve) => stream.onDrain(resolve));
    exchange.disconnect();
    exchange.disconnect();
    await drained;
    await exchange.done;
    await new Promise<void>((resolve) => exchange.onGone(resolve));
    stream.write("late");
    equal(count, 1);
    deepEqual(exchange.chunks, ["a"]);
  });

  it("is silent when the client goes after the answer", () => {
    const exchange = createArrayExchange();
    let count = 0;
    exchange.onGone(() => count++);
    exchange.reply(204, {});
    exchange.disconnect();
    equal(count, 0);
  });
});
