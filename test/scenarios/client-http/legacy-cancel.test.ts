import { deepEqual, equal, rejects } from "node:assert/strict";
import { TimeoutError } from "#src/protocol/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { LEGACY, legacyWorld, SESSION, sessionWorld } from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "legacy-http" };
/** Responses to a call that was cancelled. */
const LATE = [{ result: {} }, { error: { code: -32800, message: "Request cancelled" } }];

proves(
  [
    "client-transport:http:cancel-posts-frame",
    "client-transport:http:cancel-legacy-order",
    "client-transport:http:abort-quiet",
  ],
  wire,
  "one cancellation is posted; the stream is dropped only after it was accepted",
  async (t) => {
    const { script, link, told, call } = await sessionWorld(t);
    for (const streaming of [false, true]) {
      const abort = new AbortController();
      const answered = call({}, { signal: abort.signal });
      const received = await script.next("tools/call");
      let gone = false;
      void received.gone.then(() => {
        gone = true;
      });
      if (streaming) {
        received.stream().notify("notifications/message", {});
        await told.until(() => told.notifications.length === 1);
      }
      const reason = new Error("enough");
      abort.abort(reason);
      await rejects(answered, (error) => error === reason);
      const cancelled = await script.next("notifications/cancelled");
      deepEqual(cancelled.message.params, { requestId: received.message.id, reason: "enough" });
      equal(cancelled.headers["mcp-session-id"], SESSION);
      equal(cancelled.headers["mcp-protocol-version"], LEGACY);
      equal(gone, false);
      cancelled.status(202);
      await received.gone;
    }
    equal(script.all("notifications/cancelled").length, 2);
    deepEqual(told.problems, []);
    equal(link.pending, 0);
  },
);

proves("client-transport:http:cancel-posts-frame", wire, "a call that runs out of time is cancelled too", async (t) => {
  const clock = new FakeClock();
  const { script, call } = await sessionWorld(t, { clock });
  const answered = call({}, { deadlineMs: 100 }, clock);
  const received = await script.next("tools/call");
  clock.advance(100);
  await rejects(answered, (error) => error instanceof TimeoutError && error.kind === "deadline");
  const cancelled = await script.next("notifications/cancelled");
  equal(cancelled.message.params.requestId, received.message.id);
  cancelled.status(202);
  await received.gone;
});

proves("client-transport:http:cancel-scoped", wire, "of three calls only the cancelled one is disturbed", async (t) => {
  const { script, call } = await sessionWorld(t);
  const abort = new AbortController();
  const first = call();
  const one = await script.next("tools/call");
  const second = call({}, { signal: abort.signal });
  const two = await script.next("tools/call");
  const third = call();
  const three = await script.next("tools/call");
  abort.abort("no");
  await rejects(second, (error) => error === "no");
  (await script.next("notifications/cancelled")).status(202);
  await two.gone;
  one.result({ n: 1 });
  three.stream().resultEvent({ n: 3 }).end();
  const results = (await Promise.all([first, third])).map((response) => "result" in response && response.result);
  deepEqual(results, [{ n: 1 }, { n: 3 }]);
});

proves(
  "client-transport:http:204-settled-exchange",
  wire,
  "204 and an early end are silent for a cancelled call",
  async (t) => {
    const { script, link, told, call } = await sessionWorld(t);
    for (const streaming of [false, true]) {
      const abort = new AbortController();
      const answered = call({}, { signal: abort.signal });
      const received = await script.next("tools/call");
      if (streaming) received.stream();
      abort.abort("no");
      await rejects(answered, (error) => error === "no");
      const cancelled = await script.next("notifications/cancelled");
      if (streaming) received.end();
      else received.status(204);
      await received.closed;
      cancelled.status(202);
    }
    const next = call();
    (await script.next("tools/call")).result({});
    await next;
    deepEqual(told.problems, []);
    equal(link.pending, 0);
    equal(script.all("GET").filter(({ headers }) => headers["last-event-id"] !== undefined).length, 0);
  },
);

proves(
  "client-transport:http:cancel-best-effort",
  wire,
  "a cancellation that is not taken is given up in time",
  async (t) => {
    const clock = new FakeClock();
    const { script, link, told, call } = await sessionWorld(t, { clock });
    const abort = new AbortController();
    const answered = call({}, { signal: abort.signal });
    const received = await script.next("tools/call");
    abort.abort("no");
    await rejects(answered, (error) => error === "no");
    const cancelled = await script.next("notifications/cancelled");
    clock.advance(1000);
    await Promise.all([received.gone, cancelled.gone]);
    deepEqual(told.problems, []);
    equal(clock.pending, 0);

    const again = new AbortController();
    const second = call({}, { signal: again.signal });
    const next = await script.next("tools/call");
    again.abort("no");
    await rejects(second, (error) => error === "no");
    (await script.next("notifications/cancelled")).status(500);
    await next.gone;
    await told.until(() => told.problems.length === 1);
    equal(link.pending, 0);
  },
);

proves("client-transport:http:cancel-best-effort", wire, "close does not wait for a cancellation", async (t) => {
  const clock = new FakeClock();
  const { script, link, told, call } = await sessionWorld(t, { clock });
  const abort = new AbortController();
  const answered = call({}, { signal: abort.signal });
  await script.next("tools/call");
  abort.abort("no");
  await rejects(answered, (error) => error === "no");
  const cancelled = await script.next("notifications/cancelled");
  const closing = link.close();
  (await script.next("DELETE")).status(204);
  await closing;
  await cancelled.gone;
  equal(clock.pending, 0);
  deepEqual(told.problems, []);
});

proves(
  "protocol:cancel:late-response-ignored",
  wire,
  "an answer that crosses the cancellation is dropped silently",
  async (t) => {
    const { script, told, call } = await sessionWorld(t);
    for (const answer of LATE) {
      const heard = told.notifications.length;
      const abort = new AbortController();
      const answered = call({}, { signal: abort.signal });
      const received = await script.next("tools/call");
      received.stream().notify("notifications/message", {});
      await told.until(() => told.notifications.length === heard + 1);
      abort.abort("no");
      await rejects(answered, (error) => error === "no");
      const cancelled = await script.next("notifications/cancelled");
      const late = { jsonrpc: "2.0", id: received.message.id, ...answer };
      received.event(late).notify("notifications/message", {}).end();
      await received.closed;
      cancelled.status(202);
      const next = call();
      (await script.next("tools/call")).result({});
      await next;
      equal(told.notifications.length, heard + 1);
    }
    deepEqual(told.problems, []);
  },
);

proves(
  "protocol:cancel:late-response-ignored",
  wire,
  "an answer on a stream that was read on is dropped silently too",
  async (t) => {
    for (const answer of LATE) {
      const clock = new FakeClock();
      const { script, told, call } = await sessionWorld(t, { clock });
      (await script.next("GET")).status(405);
      const abort = new AbortController();
      const answered = call({}, { signal: abort.signal });
      const received = await script.next("tools/call");
      received.stream().raw("id: e1\nretry: 500\ndata:\n\n").end();
      await clock.started(1);
      clock.advance(500);
      const resumed = (await script.next("GET")).stream().notify("notifications/message", {});
      await told.until(() => told.notifications.length === 1);
      abort.abort("no");
      await rejects(answered, (error) => error === "no");
      const cancelled = await script.next("notifications/cancelled");
      resumed.event({ jsonrpc: "2.0", id: received.message.id, ...answer }).end();
      await resumed.closed;
      cancelled.status(202);
      const next = call();
      (await script.next("tools/call")).result({});
      await next;
      equal(told.notifications.length, 1);
      deepEqual(told.problems, []);
    }
  },
);

proves(
  ["protocol:cancel:already-aborted", "protocol:cancel:unsent-request-no-frame"],
  wire,
  "a call that was over before it began is not sent",
  async (t) => {
    const { script, link, call } = await sessionWorld(t);
    await rejects(call({}, { signal: AbortSignal.abort("no") }), (error) => error === "no");
    const abort = new AbortController();
    await rejects(call({ onId: () => abort.abort("late") }, { signal: abort.signal }), (error) => error === "late");
    const marker = link.notify("notifications/marker", undefined);
    (await script.next("notifications/marker")).status(202);
    await marker;
    equal(script.all("tools/call").length, 0);
    equal(script.all("notifications/cancelled").length, 0);
    equal(link.pending, 0);
  },
);

proves("protocol:cancel:initialize-not-cancellable", wire, "an abandoned handshake is not cancelled", async (t) => {
  const { script, link, told, call } = await legacyWorld(t);
  const abort = new AbortController();
  const opened = call({ method: "initialize", params: {}, cancellable: false }, { signal: abort.signal });
  const received = await script.next("initialize");
  abort.abort("no");
  await rejects(opened, (error) => error === "no");
  await received.gone;
  equal(script.received.length, 1);
  equal(link.open, 0);
  deepEqual(told.problems, []);
});

proves("client-transport:http:cancel-late-swallowed", wire, "a cancellation by hand is posted here", async (t) => {
  const { script, link } = await sessionWorld(t);
  const sent = link.notify("notifications/cancelled", { requestId: "unknown" });
  (await script.next("notifications/cancelled")).status(202);
  await sent;
});

for (const moment of ["streaming", "waiting", "resuming", "resumed"] as const) {
  proves(
    "client-transport:http:cancel-no-reconnect",
    wire,
    `no stream is read on for a call cancelled while ${moment}`,
    async (t) => {
      const clock = new FakeClock();
      const { script, link, told, call } = await sessionWorld(t, { clock });
      (await script.next("GET")).status(405);
      for (let n = 0; n < 50; n++) {
        const abort = new AbortController();
        const started = clock.delays.length;
        const answered = call({}, { signal: abort.signal });
        const received = await script.next("tools/call");
        received.stream().raw(`id: ${n}\nretry: 10\ndata:\n\n`);
        received.notify("notifications/message", {});
        await told.until(() => told.notifications.length > 0);
        told.notifications.length = 0;
        let gets = 0;
        let resumed: typeof received | undefined;
        if (moment !== "streaming") {
          received.end();
          await clock.started(started + 1);
        }
        if (moment === "resuming" || moment === "resumed") {
          clock.advance(100);
          resumed = await script.next("GET");
          gets = 1;
        }
        if (moment === "resumed") {
          resumed?.stream().notify("notifications/message", {});
          await told.until(() => told.notifications.length > 0);
          told.notifications.length = 0;
        }
        abort.abort("no");
        await rejects(answered, (error) => error === "no");
        (await script.next("notifications/cancelled")).status(202);
        await (moment === "streaming" ? received.gone : resumed?.gone);
        clock.advance(60_000);
        equal(script.all("GET").filter(({ headers }) => headers["last-event-id"] === String(n)).length, gets);
      }
      equal(link.pending, 0);
      deepEqual(told.problems, []);
    },
  );
}
