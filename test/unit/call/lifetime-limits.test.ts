import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { TimeoutError } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { CallLifetime } from "#src/call/lifetime.js";

for (const limit of ["timeoutMs", "deadlineMs"] as const) {
  test(`${limit}: 0 is a limit and not its absence: the call ends as soon as time is looked at`, () => {
    const clock = new FakeClock();
    const lifetime = new CallLifetime("tools/call", { [limit]: 0 }, clock);
    equal(lifetime.aborted, false, "not in the turn in which it begins");
    deepEqual(clock.delays, [0]);
    clock.advance(0);
    ok(lifetime.reason instanceof TimeoutError);
    equal(lifetime.reason.afterMs, 0);
  });

  test(`${limit} ends a call when exactly that time has passed`, () => {
    const clock = new FakeClock();
    const lifetime = new CallLifetime("tools/call", { [limit]: 10 }, clock);
    clock.advance(9);
    equal(lifetime.aborted, false);
    clock.advance(1);
    ok(lifetime.reason instanceof TimeoutError);
    equal(lifetime.reason.kind, limit === "timeoutMs" ? "idle" : "deadline");
  });

  test(`${limit} must not be below 0 or no number`, () => {
    for (const ms of [-1, Number.NaN]) throws(() => new CallLifetime("a", { [limit]: ms }), { name: "RangeError" });
  });
}

test("a timeout tells how far the call's own request got, and no more than is known", () => {
  const deliveryOf = (use: (lifetime: CallLifetime) => void, begin?: "not_sent") => {
    const clock = new FakeClock();
    const lifetime = new CallLifetime("tools/call", { timeoutMs: 10 }, clock, begin);
    use(lifetime);
    clock.advance(10);
    const { delivery, retrySafe } = lifetime.reason as TimeoutError;
    return [delivery, retrySafe];
  };
  deepEqual(
    deliveryOf(() => {}),
    ["sent", false],
  );
  deepEqual(
    deliveryOf(() => {}, "not_sent"),
    ["not_sent", true],
  );
  const sent = (lifetime: CallLifetime) => lifetime.reached("sent");
  deepEqual(deliveryOf(sent, "not_sent"), ["sent", false]);
  const taken = (lifetime: CallLifetime) => {
    sent(lifetime);
    lifetime.reached("answer_lost");
    lifetime.reached("sent");
  };
  deepEqual(deliveryOf(taken, "not_sent"), ["answer_lost", false]);
});

test("a sign of life starts timeoutMs anew, and never deadlineMs", () => {
  const clock = new FakeClock();
  const lifetime = new CallLifetime("tools/call", { timeoutMs: 10, deadlineMs: 25 }, clock);
  for (const ms of [9, 9]) {
    clock.advance(ms);
    lifetime.heard();
  }
  clock.advance(6);
  equal(lifetime.aborted, false);
  clock.advance(1);
  ok(lifetime.reason instanceof TimeoutError);
  equal(lifetime.reason.kind, "deadline");
});

test("a call without limits has no timer", () => {
  const clock = new FakeClock();
  new CallLifetime("a", { timeoutMs: Number.POSITIVE_INFINITY }, clock);
  new CallLifetime("a", {}, clock);
  deepEqual(clock.delays, []);
});
