import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { ConnectionError, connect } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { stdioWires } from "../../support/each-wire.js";
import type { Era } from "../../support/raw-peer.js";
import { child, connectChild, exists, SOON } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

const pings = { intervalMs: 1000, timeoutMs: 500 };

async function start(t: TestContext, era: Era, restart: object) {
  const clock = new FakeClock();
  const errors: string[] = [];
  const closes: unknown[] = [];
  const { client } = await connectChild(
    t,
    era,
    { ...child("recorder", era, "deaf-to-end"), shutdown: SOON, restart: { delayMs: 100, ...restart } },
    {
      clock,
      pings,
      timeoutMs: Number.POSITIVE_INFINITY,
      onError: ({ message }) => errors.push(message),
      onClose: (reason) => closes.push(reason),
    },
  );
  const pid = Number((await client.callTool("any")).text);
  t.after(() => exists(pid) && process.kill(pid, "SIGKILL"));
  /** Lets a ping be sent and its time pass. */
  const missPing = async () => {
    await clock.started(clock.delays.length);
    clock.advance(pings.intervalMs);
    clock.advance(pings.timeoutMs);
    await new Promise(setImmediate);
  };
  return { clock, client, errors, closes, pid, missPing };
}

verifies(
  "transport:stdio:restart",
  "a process that hangs is ended and started again, after as many pings as it may miss",
  stdioWires,
  async ({ era }, t) => {
    const { clock, client, errors, closes, pid, missPing } = await start(t, era, { maxMissedPings: 2 });
    const hanging = rejects(client.callTool("hang"), (error) => {
      ok(error instanceof ConnectionError, String(error));
      match(error.message, /no response to 2 pings in a row/);
      equal(error.delivery, "sent");
      return true;
    });
    await missPing();
    deepEqual([errors.length, closes.length], [1, 0]);
    match(errors[0] ?? "", /a ping was not answered within 500 ms/);
    const timers = clock.delays.length;
    await missPing();
    await hanging;
    const next = client.callTool("any");
    while (clock.delays.slice(timers).every((delay) => delay !== 100)) await clock.started(clock.delays.length + 1);
    equal(exists(pid), false, "two at a time are one too many");
    clock.advance(100);
    notEqual(Number((await next).text), pid);
    deepEqual(closes, []);
    await client.close();
    equal(clock.pending, 0);
  },
);

verifies("transport:stdio:restart", "an answer in between starts the count anew", stdioWires, async ({ era }, t) => {
  const { clock, client, errors, missPing, pid } = await start(t, era, { maxMissedPings: 2 });
  process.kill(pid, "SIGSTOP");
  await missPing();
  equal(errors.length, 1);
  process.kill(pid, "SIGCONT");
  clock.advance(pings.intervalMs);
  // Its answer has come when a later call's has.
  await client.callTool("any");
  process.kill(pid, "SIGSTOP");
  await missPing();
  process.kill(pid, "SIGCONT");
  equal(Number((await client.callTool("any")).text), pid);
  equal(errors.length, 2);
});

verifies(
  "transport:stdio:restart",
  "a process that hangs is left alone unless told so",
  stdioWires,
  async ({ era }, t) => {
    const { client, pid, missPing } = await start(t, era, {});
    process.kill(pid, "SIGSTOP");
    for (let missed = 0; missed < 5; missed++) await missPing();
    process.kill(pid, "SIGCONT");
    equal(Number((await client.callTool("any")).text), pid);
  },
);

proves("transport:stdio:restart", {}, "missed pings need pings", async () => {
  const target = { ...child("recorder", "legacy"), restart: { maxMissedPings: 2 } };
  await rejects(connect(target), { code: "definition_error", message: /restart.maxMissedPings requires .*pings/ });
});
