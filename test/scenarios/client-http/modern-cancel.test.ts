import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { CallLifetime } from "#src/call/lifetime.js";
import { ModernHttpTransport } from "#src/era/modern/client/http.js";
import type { TransportRequest } from "#src/era/transport.js";
import type { Fetch } from "#src/http/client/send.js";
import { TimeoutError } from "#src/protocol/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { createTarget, MODERN, modernWorld, Recorder, sessionWorld, settled } from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "modern-http" };
const request: TransportRequest = { method: "tools/call", params: { name: "t" }, cancellable: true };

/** A fetch that the test answers, and that takes its time to notice an abort. */
class SlowFetch {
  readonly calls: { resolve(response: Response): void; reject(reason: unknown): void; signal: AbortSignal }[] = [];
  readonly fetch: Fetch = (_url, init) =>
    new Promise((resolve, reject) => this.calls.push({ resolve, reject, signal: init.signal as AbortSignal }));
}

function slowLink() {
  const slow = new SlowFetch();
  const link = new ModernHttpTransport(createTarget(new URL("http://127.0.0.1/mcp"), { fetch: slow.fetch }), MODERN);
  const told = new Recorder();
  link.receiver = told;
  return { slow, link, told };
}

function jsonResponse(id: number | string, result: object): Response {
  return Response.json({ jsonrpc: "2.0", id, result });
}

proves(
  ["client-transport:http:cancel-closes-stream", "client-transport:http:abort-quiet"],
  wire,
  "to give up closes the call's own POST, before and after the first event, and sends nothing",
  async (t) => {
    const { script, link, told, call } = await modernWorld(t);
    for (const streaming of [false, true]) {
      const abort = new AbortController();
      const answered = call({}, { signal: abort.signal });
      const received = await script.next("tools/call");
      if (streaming) {
        received.stream().notify("notifications/message", {});
        await told.until(() => told.notifications.length === 1);
      }
      const reason = { why: "enough" };
      abort.abort(reason);
      await rejects(answered, (error) => error === reason);
      await received.gone;
    }
    equal(script.received.length, 2);
    deepEqual(told.problems, []);
    equal(link.pending, 0);
    equal(link.open, 0);
  },
);

proves(
  "client-transport:http:timeout-closes-stream",
  wire,
  "a call that runs out of time closes its POST",
  async (t) => {
    const clock = new FakeClock();
    const { script, told, call } = await modernWorld(t, { clock });
    const answered = call({}, { timeoutMs: 100 }, clock);
    const received = await script.next("tools/call");
    clock.advance(100);
    await rejects(answered, (error) => error instanceof TimeoutError && error.kind === "idle");
    await received.gone;
    equal(script.received.length, 1);
    deepEqual(told.problems, []);
    equal(clock.pending, 0);
  },
);

proves("protocol:cancel:discover-not-cancelled", wire, "an abandoned probe at most closes its own POST", async (t) => {
  const { script, told, call } = await modernWorld(t);
  const abort = new AbortController();
  const probe = call({ method: "server/discover", params: {}, cancellable: false }, { signal: abort.signal });
  const received = await script.next("server/discover");
  abort.abort("no");
  await rejects(probe, (error) => error === "no");
  await received.gone;
  equal(script.received.length, 1);
  deepEqual(told.problems, []);
});

proves(
  "protocol:cancel:late-response-ignored",
  wire,
  "an answer after the end of its call is dropped silently",
  async () => {
    const { slow, link, told } = slowLink();
    const scope = new CallLifetime("t", {});
    const answered = link.request(request, scope);
    await settled();
    equal(slow.calls.length, 1);
    scope.abort("no");
    await rejects(answered, (error) => error === "no");
    slow.calls[0]?.resolve(jsonResponse(0, {}));
    await settled();
    deepEqual(told.problems, []);
    equal(link.open, 0);
  },
);

proves("client-transport:http:cancel-scoped", wire, "of three calls only the cancelled one is disturbed", async (t) => {
  const { script, call } = await modernWorld(t);
  const abort = new AbortController();
  const first = call();
  const one = await script.next("tools/call");
  const second = call({}, { signal: abort.signal });
  const two = await script.next("tools/call");
  const third = call();
  const three = await script.next("tools/call");
  abort.abort("no");
  await rejects(second, (error) => error === "no");
  await two.gone;
  one.result({ n: 1 });
  three.stream().resultEvent({ n: 3 }).end();
  deepEqual(await Promise.all([first, third]).then((all) => all.map((r) => "result" in r && r.result)), [
    { n: 1 },
    { n: 3 },
  ]);
});

proves(
  "client-transport:http:cancel-listen",
  wire,
  "closing a subscription aborts its POST, acknowledged or not",
  async (t) => {
    const { script, told, call } = await modernWorld(t);
    for (const acknowledged of [false, true]) {
      const abort = new AbortController();
      const listening = call(
        { method: "subscriptions/listen", params: { notifications: {} } },
        { signal: abort.signal },
      );
      const received = await script.next("subscriptions/listen");
      if (acknowledged) {
        received.stream().notify("notifications/subscriptions/acknowledged", { notifications: {} });
        await told.until(() => told.notifications.length === 1);
      }
      abort.abort("closed");
      await rejects(listening, (error) => error === "closed");
      await received.gone;
    }
    equal(script.received.length, 2);
    deepEqual(told.problems, []);
  },
);

proves(
  "client-transport:http:cancel-era-per-post",
  wire,
  "each call is given up in the way of the link that sent it, whatever is in use by then",
  async (t) => {
    const { script, call: callInSession } = await sessionWorld(t);
    const abort = new AbortController();
    const old = callInSession({}, { signal: abort.signal });
    const first = await script.next("tools/call");
    const modern = new ModernHttpTransport(createTarget(script.url), MODERN);
    t.after(() => modern.close());
    const scope = new CallLifetime("tools/call", { signal: abort.signal });
    const fresh = modern.request(request, scope);
    const second = await script.next("tools/call");
    abort.abort("no");
    await rejects(old, (error) => error === "no");
    await rejects(fresh, (error) => error === "no");
    await second.gone;
    const cancelled = await script.next("notifications/cancelled");
    equal(cancelled.message.params.requestId, first.message.id);
    cancelled.status(202);
    await first.gone;
    equal(script.all("notifications/cancelled").length, 1);
  },
);

proves(
  "client-transport:http:cancel-before-start",
  wire,
  "a call given up in the turn it was made leaves nothing",
  async () => {
    const { slow, link } = slowLink();
    const abort = new AbortController();
    const answered = link.request(request, new CallLifetime("t", { signal: abort.signal }));
    abort.abort("at once");
    await rejects(answered, (error) => error === "at once");
    await settled();
    equal(slow.calls.length, 0);
    equal(link.pending, 0);
    equal(link.open, 0);

    await rejects(
      link.request(request, new CallLifetime("t", { signal: abort.signal })),
      (error) => error === "at once",
    );
    await settled();
    equal(slow.calls.length, 0);

    const late = new AbortController();
    const scope = new CallLifetime("t", { signal: late.signal });
    await rejects(
      link.request({ ...request, onId: () => late.abort("in onId") }, scope),
      (error) => error === "in onId",
    );
    await settled();
    equal(slow.calls.length, 0);
    equal(link.pending, 0);

    const kept = link.request({ ...request, id: "kept" }, new CallLifetime("t", {}));
    await settled();
    equal(slow.calls.length, 1);
    slow.calls[0]?.resolve(jsonResponse("kept", {}));
    ok("result" in (await kept));
  },
);

proves(
  "client-transport:http:cancel-late-swallowed",
  wire,
  "a cancellation that matches nothing is not posted",
  async (t) => {
    const { script, link, told, call } = await modernWorld(t);
    const answered = call();
    const received = await script.next("tools/call");
    received.result({});
    await answered;
    for (const params of [
      { requestId: received.message.id },
      { requestId: "unknown" },
      { requestId: {} },
      {},
      undefined,
    ]) {
      await link.notify("notifications/cancelled", params);
    }
    const marker = link.notify("notifications/marker", undefined);
    (await script.next("notifications/marker")).status(202);
    await marker;
    equal(script.all("notifications/cancelled").length, 0);
    deepEqual(told.problems, []);
  },
);

proves("client-transport:http:cancel-id-verbatim", wire, "a cancellation by hand needs the very id", async () => {
  for (const [id, other] of [
    [1, "1"],
    ["1", 1],
  ] as const) {
    const { slow, link } = slowLink();
    const answered = link.request({ ...request, id }, new CallLifetime("t", {}));
    await settled();
    link.notify("notifications/cancelled", { requestId: other });
    equal(slow.calls[0]?.signal.aborted, false);
    equal(link.pending, 1);
    link.notify("notifications/cancelled", { requestId: id, reason: "by hand" });
    equal(slow.calls[0]?.signal.aborted, true);
    await rejects(answered, { name: "AbortError", message: "by hand" });
    equal(slow.calls.length, 1);
  }
});

proves(
  ["client-transport:http:reused-id-registration", "client-transport:http:reused-id-late-response"],
  wire,
  "a call that is still unwinding does not touch its successor under the same id",
  async () => {
    const { slow, link, told } = slowLink();
    const first = link.request({ ...request, id: "X" }, new CallLifetime("t", {}));
    await settled();
    link.notify("notifications/cancelled", { requestId: "X" });
    await rejects(first, { name: "AbortError" });
    const second = link.request({ ...request, id: "X" }, new CallLifetime("t", {}));
    slow.calls[0]?.resolve(jsonResponse("X", { from: "first" }));
    await settled();
    equal(link.pending, 1);
    const third = new CallLifetime("t", {});
    slow.calls[1]?.resolve(jsonResponse("X", { from: "second" }));
    deepEqual(await second, { jsonrpc: "2.0", id: "X", result: { from: "second" } });

    const fourth = link.request({ ...request, id: "X" }, third);
    await settled();
    link.notify("notifications/cancelled", { requestId: "X" });
    await rejects(fourth, { name: "AbortError" });
    const fifth = link.request({ ...request, id: "X" }, new CallLifetime("t", {}));
    slow.calls[2]?.reject(new Error("unwound"));
    await settled();
    link.notify("notifications/cancelled", { requestId: "X" });
    equal(slow.calls[3]?.signal.aborted, true);
    await rejects(fifth, { name: "AbortError" });
    deepEqual(told.problems, []);
  },
);

proves(
  "client-transport:http:signal-listeners",
  wire,
  "a thousand calls leave no listener on a shared signal",
  async () => {
    const fetch: Fetch = async (_url, init) => jsonResponse(JSON.parse(String(init.body)).id, {});
    const link = new ModernHttpTransport(createTarget(new URL("http://127.0.0.1/mcp"), { fetch }), MODERN);
    const { signal } = new AbortController();
    for (let n = 0; n < 1000; n++) {
      const scope = new CallLifetime("t", { signal });
      await link.request(request, scope);
      scope.close();
    }
    equal(getEventListeners(signal, "abort").length, 0);
    await settled();
    equal(link.open, 0);
  },
);

proves("client-transport:http:close-aborts", wire, "closing ends every call, at once and for good", async (t) => {
  const { script, link, told, call } = await modernWorld(t);
  const waiting = call();
  const one = await script.next("tools/call");
  const streaming = call();
  const two = (await script.next("tools/call")).stream().notify("notifications/message", {});
  await told.until(() => told.notifications.length === 1);
  const closing = link.close();
  await rejects(waiting, { code: "connection_error", delivery: "sent" });
  await rejects(streaming, { code: "connection_error", delivery: "answer_lost" });
  await closing;
  await Promise.all([one.gone, two.gone]);
  await link.close();
  equal(told.closes, 1);
  deepEqual(told.problems, []);
  await rejects(call(), { code: "connection_error", delivery: "not_sent" });
  equal(script.received.length, 2);
  ok(link.open === 0);
});

proves("client-transport:http:cancel-best-effort", wire, "a fetch that ignores its abort holds up nobody", async () => {
  const { slow, link, told } = slowLink();
  const scope = new CallLifetime("t", {});
  const answered = link.request(request, scope);
  await settled();
  equal(slow.calls.length, 1);
  scope.abort("no");
  await rejects(answered, (error) => error === "no");
  await link.close();
  slow.calls[0]?.reject(new Error("late"));
  await settled();
  deepEqual(told.problems, []);
  equal(link.open, 0);
});

proves(
  ["client-transport:http:no-reconnect-after-response", "client-transport:http:no-reconnect-after-close"],
  wire,
  "event ids lead to no reconnect, after the response or after close",
  async (t) => {
    const clock = new FakeClock();
    const { script, link, call } = await modernWorld(t, { clock });
    const answered = call();
    const received = await script.next("POST");
    received.stream().raw("id: 1\nretry: 1\ndata:\n\n").resultEvent({}, "2").end();
    await answered;
    await received.closed;
    const pending = call();
    (await script.next("POST")).stream().raw("id: 3\nretry: 1\ndata:\n\n");
    const closing = link.close();
    await rejects(pending, { code: "connection_error" });
    await closing;
    clock.advance(600_000);
    await settled();
    equal(script.received.length, 2);
    equal(clock.pending, 0);
  },
);
