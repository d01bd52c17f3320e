import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ConnectionError, RpcError } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { CallLifetime } from "#src/call/lifetime.js";
import type { ClientRuntime, WatchEvents } from "#src/era/client-era.js";
import { ResourceSubscriptions } from "#src/era/legacy/client/subscription.js";

const HOUR = 3_600_000;
const deaf: WatchEvents = { onChange() {}, onMissed() {}, onEnd() {} };
const lost = new ConnectionError("cut", { delivery: "sent" });

interface Sent {
  readonly what: string;
  settle(error?: Error): void;
}

/** Subscriptions whose requests are answered by the test. */
function createSubscriptions() {
  const clock = new FakeClock();
  const sent: Sent[] = [];
  const runtime = { timeoutMs: HOUR, clock, onProblem() {} } as unknown as ClientRuntime;
  const subscriptions = new ResourceSubscriptions(
    runtime,
    () => undefined,
    (method, { uri }) =>
      new Promise<void>((resolve, reject) => {
        const settle = (error?: Error) => (error === undefined ? resolve() : reject(error));
        sent.push({ what: `${method.slice("resources/".length)} ${uri}`, settle });
      }),
  );
  const watch = (uri: string) =>
    subscriptions.open({ resourceSubscriptions: [uri] }, deaf, new CallLifetime("watch", { timeoutMs: HOUR }, clock));
  /** Answers the next request, once it has been sent. */
  const answer = async (error?: Error) => {
    for (let turns = 0; sent.length === 0 && turns < 10; turns++) await turn();
    const request = sent.shift();
    request?.settle(error);
    await turn();
    return request?.what;
  };
  const unanswered = async () => {
    await turn();
    return sent.map(({ what }) => what);
  };
  return { watch, answer, unanswered };
}

test("a resource that is watched again while it is let go is subscribed to after that", async () => {
  const { watch, answer, unanswered } = createSubscriptions();
  const first = watch("a:");
  await answer();
  const closing = (await first).close();
  await unanswered();
  const second = watch("a:");
  deepEqual(await unanswered(), ["unsubscribe a:"]);
  await answer();
  await closing;
  deepEqual(await unanswered(), ["subscribe a:"]);
  await answer();
  const again = (await second).close();
  deepEqual(await answer(), "unsubscribe a:");
  await again;
});

test("other resources do not wait for it", async () => {
  const { watch, answer, unanswered } = createSubscriptions();
  const first = watch("a:");
  await answer();
  void (await first).close();
  void watch("b:");
  deepEqual(await unanswered(), ["unsubscribe a:", "subscribe b:"]);
});

test("a resource whose subscription may have been made is let go when the watch fails", async () => {
  const { watch, answer, unanswered } = createSubscriptions();
  const failed = rejects(watch("a:"), lost);
  await answer(lost);
  await failed;
  deepEqual(await answer(), "unsubscribe a:");

  for (const refused of [new RpcError(-32603, "no"), new ConnectionError("down", { delivery: "not_sent" })]) {
    const refusal = rejects(watch("a:"), refused);
    await answer(refused);
    await refusal;
    deepEqual(await unanswered(), []);
  }
});

test("a resource that could not be let go is let go with the next one", async () => {
  const { watch, answer, unanswered } = createSubscriptions();
  for (const uri of ["a:", "b:"]) {
    const opening = watch(uri);
    await answer();
    const closing = (await opening).close();
    await answer(uri === "a:" ? lost : undefined);
    await closing;
  }
  deepEqual(await answer(), "unsubscribe a:");
  deepEqual(await unanswered(), []);
});

test("a resource that is watched again is not let go with the next one", async () => {
  const { watch, answer, unanswered } = createSubscriptions();
  const opening = watch("a:");
  await answer();
  const closing = (await opening).close();
  await answer(lost);
  await closing;
  void watch("a:");
  await answer();
  const other = watch("b:");
  await answer();
  void (await other).close();
  deepEqual(await answer(), "unsubscribe b:");
  deepEqual(await unanswered(), []);
});
