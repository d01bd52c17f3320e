import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ClientTransport } from "#src/era/transport.js";
import { ConnectionError, ProtocolError } from "#src/protocol/errors.js";
import type { RpcResponse } from "#src/protocol/jsonrpc/message.js";
import { modernWorld, sessionWorld, type World } from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

/** Runs on both links: their replies are read alike. */
function onBoth(
  ids: readonly string[],
  title: string,
  body: (world: World<ClientTransport>, t: TestContext) => Promise<void>,
): void {
  proves(ids, { wire: "modern-http" }, `${title} (each for itself)`, async (t) => body(await modernWorld(t), t));
  proves(ids, { wire: "legacy-http" }, `${title} (in a session)`, async (t) => body(await sessionWorld(t), t));
}

function resultOf(response: RpcResponse): unknown {
  ok("result" in response);
  return response.result;
}

onBoth(
  ["client-transport:http:json-response-parsed"],
  "a JSON answer settles its call, whatever the type's spelling",
  async ({ script, call }) => {
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=UTF-8"]) {
      const answered = call();
      const { response, message } = await script.next("tools/call");
      response
        .writeHead(200, { "content-type": type })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { type } }));
      deepEqual(resultOf(await answered), { type });
    }
  },
);

onBoth(
  ["client-transport:http:sse-response-parsed"],
  "events are handed out as they arrive",
  async ({ script, told, call }) => {
    const progress: unknown[] = [];
    const heard = deferred();
    const answered = call({
      onProgress: (params) => {
        progress.push(params.progress);
        heard.resolve(undefined);
      },
    });
    const received = await script.next("tools/call");
    const { progressToken } = received.message.params._meta;
    received.stream().notify("notifications/progress", { progressToken, progress: 1 });
    await heard.promise;
    received.notify("notifications/message", { data: "hi" });
    await told.until(() => told.notifications.length === 1);
    received.resultEvent({ done: true }).end();
    deepEqual(resultOf(await answered), { done: true });
    deepEqual(progress, [1]);
    equal(told.notifications[0]?.[0].method, "notifications/message");
    equal(told.notifications[0]?.[1], received.message.id);
  },
);

onBoth(
  [
    "client-transport:http:sse-comment-ignored",
    "client-transport:http:sse-empty-data",
    "client-transport:http:sse-other-events",
  ],
  "comments, empty events and events of other types are no messages",
  async ({ script, told, call }) => {
    const answered = call();
    const received = await script.next("tools/call");
    received.stream().raw(":\r\n\r\n: keepalive\r\n\r\nid: 7\r\ndata:\r\n\r\n");
    received.raw('event: ping\r\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\r\n\r\n: x\r\n');
    received.resultEvent({}).end();
    await answered;
    deepEqual(told.problems, []);
    deepEqual(told.notifications, []);
  },
);

onBoth(
  ["client-transport:http:sse-bad-event"],
  "an event that is no message is reported and skipped",
  async ({ script, told, call }) => {
    const answered = call();
    const received = await script.next("tools/call");
    received
      .stream()
      .notify("notifications/message", { n: 1 })
      .raw("data: garbage\n\n")
      .notify("notifications/message", { n: 2 });
    received.resultEvent({ fine: true }).end();
    deepEqual(resultOf(await answered), { fine: true });
    equal(told.problems.length, 1);
    ok(told.problems[0] instanceof ProtocolError);
    equal(told.notifications.length, 2);
  },
);

onBoth(["client-transport:http:unicode"], "characters survive both ways, cut anywhere", async ({ script, call }) => {
  const text = "héllo 世界 😀";
  const answered = call({ params: { name: "t", arguments: { text } } });
  const received = await script.next("tools/call");
  equal(received.message.params.arguments.text, text);
  const bytes = Buffer.from(
    `data: ${JSON.stringify({ jsonrpc: "2.0", id: received.message.id, result: { text } })}\n\n`,
  );
  received.stream({ "content-type": "text/event-stream; charset=latin1" });
  for (const byte of bytes) received.raw(Uint8Array.of(byte));
  received.end();
  deepEqual(resultOf(await answered), { text });
});

onBoth(
  ["client-transport:http:unexpected-content-type"],
  "another content type fails the call at once",
  async ({ script, call }) => {
    const answered = call();
    const received = await script.next("tools/call");
    received.response.writeHead(200, { "content-type": "text/html" }).write("<html>");
    await rejects(answered, (error) => error instanceof ProtocolError && /text\/html/.test(error.message));
    await received.gone;
  },
);

onBoth(
  ["client-transport:http:invalid-json-response"],
  "a body that is no response fails the call",
  async ({ script, call }) => {
    for (const body of ["{", "[]", "42", "", '{"jsonrpc":"2.0","method":"notifications/message"}']) {
      const answered = call();
      (await script.next("tools/call")).json(body);
      await rejects(answered, { name: /ProtocolError|ConnectionError/ });
    }
  },
);

onBoth(
  ["client-transport:http:foreign-response"],
  "a response never settles a call of another POST",
  async ({ script, told, call }) => {
    const first = call();
    const one = await script.next("tools/call");
    const second = call();
    const two = await script.next("tools/call");
    one
      .stream()
      .event({ jsonrpc: "2.0", id: two.message.id, result: { wrong: true } })
      .end();
    await rejects(first, { code: "connection_error", delivery: "answer_lost" });
    equal(told.problems.length, 1);
    two.result({ right: true });
    deepEqual(resultOf(await second), { right: true });
  },
);

onBoth(
  ["client-transport:http:error-status-code"],
  "a status without a JSON-RPC body is readable on the error",
  async ({ script, call }) => {
    for (const status of [400, 403, 413, 429, 431, 500, 503]) {
      const answered = call();
      (await script.next("tools/call")).status(status, `no\n${"x".repeat(5000)}`);
      await rejects(answered, (error) => {
        ok(error instanceof ConnectionError);
        equal(error.status, status);
        match(error.message, /no x+\.\.\.$/);
        ok(error.message.length < 400);
        equal(error.retrySafe, [403, 413, 429, 431].includes(status));
        equal(error.delivery, error.retrySafe ? "refused" : "sent");
        return true;
      });
    }
  },
);

onBoth(
  ["client-transport:http:error-body-jsonrpc"],
  "a JSON-RPC error under an error status answers the call",
  async ({ script, call }) => {
    const error = { code: -32020, message: "mismatch", data: { a: 1 } };
    for (const id of [undefined, null, "own"]) {
      const answered = call();
      const received = await script.next("tools/call");
      received.json({ jsonrpc: "2.0", id: id === "own" ? received.message.id : id, error }, 400);
      const response = await answered;
      deepEqual(JSON.parse(JSON.stringify(response)), { jsonrpc: "2.0", id: received.message.id, error });
    }
    const answered = call();
    const received = await script.next("tools/call");
    received.json({ jsonrpc: "2.0", id: received.message.id, result: {} }, 500);
    await rejects(answered, { code: "connection_error", status: 500 });
  },
);

proves(
  "client-transport:http:404-method-not-found",
  { wire: "modern-http" },
  "404 with -32601 is an answer",
  async (t) => {
    const { script, call } = await modernWorld(t);
    const answered = call({ method: "nope" });
    const received = await script.next("nope");
    received.json(
      { jsonrpc: "2.0", id: received.message.id, error: { code: -32601, message: "Method not found" } },
      404,
    );
    const response = await answered;
    equal("error" in response && response.error.code, -32601);
    const next = call();
    (await script.next("tools/call")).result({});
    await next;
  },
);

onBoth(
  ["client-transport:http:notification-error-no-hang"],
  "a refused notification is reported and disturbs nothing",
  async ({ script, link, told, call }) => {
    for (const [status, reported] of [
      [200, 0],
      [204, 0],
      [500, 1],
    ] as const) {
      const sent = link.notify("notifications/vendor", undefined);
      const received = await script.next("notifications/vendor");
      if (status === 200) received.json({ ok: true });
      else received.status(status);
      await sent;
      equal(told.problems.splice(0).length, reported);
    }
    const answered = call();
    (await script.next("tools/call")).result({});
    await answered;
  },
);

onBoth(
  ["client-transport:http:202-pending-fails-fast", "client-transport:http:204-pending-fails-fast"],
  "202 and 204 fail a pending call at once",
  async ({ script, call }) => {
    for (const status of [202, 204]) {
      const answered = call();
      (await script.next("tools/call")).status(status);
      await rejects(answered, { code: "connection_error", status, delivery: "answer_lost", retrySafe: false });
    }
  },
);

onBoth(
  ["client-transport:http:sse-end-without-response"],
  "a stream that ends without a response fails the call",
  async ({ script, call }) => {
    for (const end of ["end", "cut"] as const) {
      const answered = call();
      const received = await script.next("tools/call");
      received.stream().notify("notifications/message", {})[end]();
      await rejects(answered, { code: "connection_error", delivery: "answer_lost" });
    }
    equal(script.received.filter(({ method, headers }) => method === "GET" && headers["last-event-id"]).length, 0);
  },
);

proves(
  "client-transport:http:body-stream-error-preserved",
  { wire: "modern-http" },
  "the body's own error is the cause",
  async (t) => {
    const broken = new Error("torn");
    for (const type of ["application/json", "text/event-stream"]) {
      const body = () => new ReadableStream({ pull: (controller) => controller.error(broken) });
      const fetch = async () => new Response(body(), { headers: { "content-type": type } });
      const { call } = await modernWorld(t, { fetch });
      await rejects(call(), (error) => error instanceof ConnectionError && error.cause === broken);
    }
  },
);

onBoth(
  ["client-transport:http:concurrent-streams"],
  "fifty streams, interleaved, each to its caller",
  async ({ script, call }) => {
    const progress = new Map<number, unknown[]>();
    const calls = Array.from({ length: 50 }, (_, n) => {
      progress.set(n, []);
      const onProgress = (params: { [key: string]: unknown }) => progress.get(n)?.push(params.progress);
      return call({ params: { name: "t", arguments: { n } }, onProgress });
    });
    const streams = [];
    for (const _ of calls) streams.push((await script.next("tools/call")).stream());
    streams.sort((a, b) => ((a.message.params.arguments.n * 17) % 50) - ((b.message.params.arguments.n * 17) % 50));
    for (const step of [1, 2]) {
      for (const s of streams) {
        s.notify("notifications/progress", { progressToken: s.message.params._meta.progressToken, progress: step });
      }
    }
    for (const s of streams) s.resultEvent({ n: s.message.params.arguments.n }).end();
    const results = await Promise.all(calls);
    for (const [n, response] of results.entries()) {
      deepEqual(resultOf(response), { n });
      deepEqual(progress.get(n), [1, 2]);
    }
  },
);

function deferred() {
  let resolve!: (value: unknown) => void;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
