import { deepEqual, equal, rejects } from "node:assert/strict";
import { describe, it } from "node:test";
import { BodyIncomplete, BodyNotText, BodyTaken, BodyTooLarge } from "#src/http/body-failure.js";
import type { HttpExchange } from "#src/http/exchange.js";
import { createWebExchange } from "#src/http/web-exchange.js";

const url = "http://localhost:3000/mcp?x=1#top";
const post = (body: BodyInit, init?: RequestInit) => new Request(url, { method: "POST", body, ...init });

function bodyOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}
const streamed = (body: ReadableStream<Uint8Array>) => post(body, { duplex: "half" } as RequestInit);

/** Counts, and tells when it was first called. */
function createCounter() {
  let called: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    called = resolve;
  });
  const counter = { count: 0, first, listener: () => {} };
  counter.listener = () => {
    counter.count++;
    called();
  };
  return counter;
}

const drained = (exchange: { onDrain(listener: () => void): void }) =>
  new Promise<void>((resolve) => exchange.onDrain(resolve));
const gone = (exchange: HttpExchange) => new Promise<void>((resolve) => exchange.onGone(resolve));

describe("web exchange: request", () => {
  it("tells method, path and headers", () => {
    const { exchange } = createWebExchange(post("", { headers: { "X-A": "1" } }), { auth: { subject: "me" } });
    equal(exchange.method, "POST");
    equal(exchange.url, "/mcp?x=1");
    equal(exchange.header("x-a"), "1");
    equal(exchange.header("x-b"), undefined);
    equal(exchange.header("host"), "localhost:3000");
    equal(exchange.auth?.subject, "me");
  });

  it("prefers the host header over the URL", () => {
    const { exchange } = createWebExchange(post("", { headers: { host: "evil.example" } }));
    equal(exchange.header("host"), "evil.example");
  });

  it("reads the body up to the limit", async () => {
    equal(await createWebExchange(post("h\u00e9")).exchange.text(3), "h\u00e9");
    await rejects(createWebExchange(post("h\u00e9l")).exchange.text(3), BodyTooLarge);
    equal(await createWebExchange(new Request(url)).exchange.text(1), "");
  });

  it("refuses an announced length without reading", async () => {
    const { exchange } = createWebExchange(post("x", { headers: { "content-length": "9" } }));
    await rejects(exchange.text(8), BodyTooLarge);
  });

  it("stops reading where the limit is crossed", async () => {
    let pulls = 0;
    let cancelled: () => void = () => {};
    const cancel = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls++;
        controller.enqueue(new Uint8Array(10).fill(32));
      },
      cancel: () => cancelled(),
    });
    await rejects(createWebExchange(streamed(endless)).exchange.text(25), BodyTooLarge);
    await cancel;
    equal(pulls < 10, true);
  });

  it("decodes characters split between chunks, and takes a byte order mark away", async () => {
    const bytes = new TextEncoder().encode("\uFEFF{\u{1F600}}");
    const request = streamed(bodyOf(...Array.from(bytes, (byte) => Uint8Array.of(byte))));
    equal(await createWebExchange(request).exchange.text(100), "{\u{1F600}}");
  });

  it("refuses what is not UTF-8, an unfinished character included", async () => {
    await rejects(createWebExchange(post(Uint8Array.of(0x22, 0xff, 0xfe, 0x22))).exchange.text(100), BodyNotText);
    await rejects(createWebExchange(post(Uint8Array.of(0x22, 0xe4, 0xb8))).exchange.text(100), BodyNotText);
  });

  it("tells a body that breaks off", async () => {
    const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("reset")) });
    await rejects(createWebExchange(streamed(broken)).exchange.text(100), BodyIncomplete);
  });

  it("takes a body that was read in front, and tells one that was not handed over", async () => {
    const request = post('{"a":1}');
    const body = await request.json();
    equal(await createWebExchange(request, { body }).exchange.text(100), '{"a":1}');
    equal(await createWebExchange(request, { body: "text" }).exchange.text(100), "text");
    await rejects(createWebExchange(request).exchange.text(100), BodyTaken);
  });
});

describe("web exchange: response", () => {
  it("replies with a length", async () => {
    const { exchange, response } = createWebExchange(post(""));
    exchange.reply(400, { "content-type": "application/json" }, '{"e":"\u00e9"}');
    const answer = await response;
    equal(answer.status, 400);
    equal(answer.headers.get("content-type"), "application/json");
    equal(answer.headers.get("content-length"), "10");
    equal(await answer.text(), '{"e":"\u00e9"}');
  });

  it("replies without a body", async () => {
    for (const [status, length] of [
      [202, "0"],
      [204, null],
    ] as const) {
      const { exchange, response } = createWebExchange(post(""));
      exchange.reply(status, {});
      const answer = await response;
      equal(answer.status, status);
      equal(answer.headers.get("content-length"), length);
      equal(await answer.text(), "");
    }
  });

  it("streams, and ends once", async () => {
    const { exchange, response } = createWebExchange(post(""));
    const stream = exchange.stream(200, { "content-type": "text/event-stream" });
    const answer = await response;
    equal(stream.write("a"), true);
    stream.write("\u00e9");
    stream.end();
    stream.end();
    equal(stream.write("late"), true);
    equal(await answer.text(), "a\u00e9");
  });

  it("holds the writer back until the reader has caught up", async () => {
    const { exchange, response } = createWebExchange(post(""), { highWaterMark: 4 });
    const stream = exchange.stream(200, {});
    const reader = (await response).body?.getReader();
    await drained(stream);
    equal(stream.write("abc"), true);
    equal(stream.write("def"), false);
    const order: string[] = [];
    const drain = drained(stream).then(() => order.push("drained"));
    order.push("reading");
    await reader?.read();
    await drain;
    deepEqual(order, ["reading", "drained"]);
    equal(stream.write(""), true);
  });
});

describe("web exchange: the client goes", () => {
  it("tells once when the request's signal fires, and lets nobody wait", async () => {
    const abort = new AbortController();
    const { exchange, response } = createWebExchange(post("", { signal: abort.signal }));
    const counter = createCounter();
    exchange.onGone(counter.listener);
    abort.abort();
    await counter.first;
    equal(counter.count, 1);
    exchange.reply(200, {}, "late");
    equal((await response).status, 499);
    await gone(exchange);
  });

  it("tells of a request that was aborted before", async () => {
    const { exchange } = createWebExchange(post("", { signal: AbortSignal.abort() }));
    await gone(exchange);
  });

  it("tells once when the response body is cancelled, and frees a waiting writer", async () => {
    const abort = new AbortController();
    const { exchange, response } = createWebExchange(post("", { signal: abort.signal }), { highWaterMark: 1 });
    const counter = createCounter();
    exchange.onGone(counter.listener);
    const stream = exchange.stream(200, {});
    equal(stream.write("full"), false);
    const drain = drained(stream);
    await (await response).body?.cancel();
    await counter.first;
    await drain;
    abort.abort();
    equal(counter.count, 1);
    equal(stream.write("late"), true);
    await drained(stream);
    stream.end();
  });

  it("ends the stream when the signal fires, which is no error for its reader", async () => {
    const abort = new AbortController();
    const { exchange, response } = createWebExchange(post("", { signal: abort.signal }));
    const counter = createCounter();
    exchange.onGone(counter.listener);
    const stream = exchange.stream(200, {});
    stream.write("a");
    const answer = await response;
    abort.abort();
    await counter.first;
    equal(stream.write("late"), true);
    stream.end();
    equal(await answer.text(), "a");
    equal(counter.count, 1);
  });

  it("breaks a stream that the server cuts off", async () => {
    const { exchange, response } = createWebExchange(post(""));
    const stream = exchange.stream(200, {});
    stream.write("a");
    stream.destroy();
    await rejects((await response).text(), { name: "AbortError", message: /cut off by the server/ });
  });

  it("frees a waiting writer when the signal fires and nobody else listens", async () => {
    const abort = new AbortController();
    const { exchange } = createWebExchange(post("", { signal: abort.signal }), { highWaterMark: 1 });
    const stream = exchange.stream(200, {});
    equal(stream.write("full"), false);
    const drain = drained(stream);
    abort.abort();
    await drain;
    equal(stream.write("late"), true);
  });

  it("is silent once the response is complete", async () => {
    for (const answer of [
      (exchange: HttpExchange) => exchange.reply(200, {}, "done"),
      (exchange: HttpExchange) => exchange.stream(200, {}).end(),
    ]) {
      const abort = new AbortController();
      const { exchange, response } = createWebExchange(post("", { signal: abort.signal }));
      const counter = createCounter();
      exchange.onGone(counter.listener);
      answer(exchange);
      exchange.onGone(counter.listener);
      abort.abort();
      await (await response).text();
      equal(counter.count, 0);
    }
  });
});
