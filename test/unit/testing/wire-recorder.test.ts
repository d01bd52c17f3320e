import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createArrayExchange, WireRecorder } from "bowline/testing";

const message = (fields: object) => JSON.stringify({ jsonrpc: "2.0", ...fields });
const sse = { "content-type": "text/event-stream" };

test("messages are told apart by side, kind and method", () => {
  const wire = new WireRecorder();
  wire.record("client", message({ id: 1, method: "a" }));
  wire.record("client", message({ id: 2, method: "b" }));
  wire.record("client", message({ method: "note" }));
  wire.record("client", message({ id: 9, result: {} }));
  wire.record("server", message({ id: 9, method: "ask" }));
  wire.record("server", message({ method: "note" }));
  wire.record("server", message({ method: "other" }));
  wire.record("server", message({ id: 2, result: { of: "b" } }));
  wire.record("server", message({ id: 1, result: { of: "a" } }));
  for (const text of ["no JSON", "7", "[]"]) wire.record("server", text);
  const ids = (messages: readonly { id?: unknown }[]) => messages.map(({ id }) => id);
  deepEqual([ids(wire.requests()), ids(wire.requests("b")), ids(wire.requests("note"))], [[1, 2], [2], []]);
  deepEqual([ids(wire.serverRequests()), ids(wire.serverRequests("a"))], [[9], []]);
  deepEqual(
    wire.responsesTo("a").map(({ result }) => result),
    [{ of: "a" }],
  );
  const methods = (from: "client" | "server", method?: string) => wire.notifications(from, method).map((m) => m.method);
  deepEqual(
    [methods("client"), methods("server"), methods("server", "other")],
    [["note"], ["note", "other"], ["other"]],
  );
  equal(wire.frames.length, 12);
  deepEqual(
    wire.frames.slice(-3).map((frame) => frame.message),
    [undefined, undefined, undefined],
  );
});

test("an exchange has its own frames, of a plain answer and of events", async () => {
  const wire = new WireRecorder();
  const plain = createArrayExchange({ body: { id: 1, method: "a" } });
  const first = wire.exchange(plain);
  await first.text(1000);
  first.reply(200, { "content-type": "application/json" }, message({ id: 1, result: {} }));
  const events = createArrayExchange({ body: { id: 2, method: "b" } });
  const second = wire.exchange(events);
  await second.text(1000);
  const stream = second.stream(200, sse);
  stream.write(`id: 1\ndata: \n\n`);
  stream.write(`event: message\ndata: ${message({ method: "note" })}\n\n`);
  equal(wire.exchanges[1]?.ended, false);
  stream.end();
  const whole = createArrayExchange();
  wire.exchange(whole).reply(200, sse, `data: ${message({ id: 3, result: {} })}\n\n`);
  wire.exchange(createArrayExchange()).reply(200, sse);
  wire.exchange(createArrayExchange()).reply(202, {}, "");
  const seen = wire.exchanges.map(({ status, ended, gone, frames }) => [status, ended, gone, frames.length]);
  deepEqual(seen, [
    [200, true, false, 2],
    [200, true, false, 2],
    [200, true, false, 1],
    [200, true, false, 0],
    [202, true, false, 0],
  ]);
  deepEqual(
    wire.exchanges[0]?.frames.map(({ from }) => from),
    ["client", "server"],
  );
  equal(wire.exchanges[0]?.body, '{"id":1,"method":"a"}');
  equal(wire.frames.length, 5);
  equal(events.body(), `id: 1\ndata: \n\nevent: message\ndata: ${message({ method: "note" })}\n\n`);
});

test("each event with data is a frame, however short, and an event without data is none", () => {
  const wire = new WireRecorder();
  const stream = wire.exchange(createArrayExchange()).stream(200, sse);
  stream.write("data: 7\n\ndata: \n\ndata: []\n\n: data: 8\n\n");
  deepEqual(
    wire.frames.map(({ from, text }) => [from, text]),
    [
      ["server", "7"],
      ["server", "[]"],
    ],
  );
});

test("a wait ends with the record that fits, at once where there is one, and also when a client leaves", async () => {
  const wire = new WireRecorder();
  let ended = false;
  const two = wire
    .until(({ frames }) => frames.length === 2)
    .then(() => {
      ended = true;
    });
  wire.record("client", "1");
  await new Promise(setImmediate);
  equal(ended, false);
  wire.record("client", "2");
  await two;
  await wire.until(({ frames }) => frames.length === 2);
  const left = createArrayExchange();
  wire.exchange(left);
  const gone = wire.until(({ exchanges }) => exchanges[0]?.gone === true);
  left.disconnect();
  await gone;
});
