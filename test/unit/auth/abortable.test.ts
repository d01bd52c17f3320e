import { equal, rejects } from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { test } from "node:test";
import { orAborted, timeoutSignal, withinTime } from "#src/auth/abortable.js";

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

test("work that has ended, well or badly, leaves no listener at the signal of its caller", async () => {
  const { signal } = new AbortController();
  const failed = new Error("failed");
  const limited = withinTime(signal, 60_000, async () => {
    equal(listeners(signal), 1);
    return 1;
  });
  equal(await limited, 1);
  equal(listeners(signal), 0);
  await rejects(
    withinTime(signal, 60_000, () => Promise.reject(failed)),
    failed,
  );
  equal(listeners(signal), 0);
  equal(await orAborted(Promise.resolve(2), signal), 2);
  await rejects(orAborted(Promise.reject(failed), signal), failed);
  equal(listeners(signal), 0);
});

test("work hears the signal of its caller, also one that has fired before", async () => {
  const reason = new Error("enough");
  const until = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const abort = new AbortController();
  const working = withinTime(abort.signal, 60_000, until);
  abort.abort(reason);
  await rejects(working, reason);
  await rejects(withinTime(AbortSignal.abort(reason), 60_000, until), reason);
});

test("a time without an end, one beyond the timers of JavaScript and a part of a millisecond are times, too", async () => {
  const endless = [timeoutSignal(Number.POSITIVE_INFINITY), timeoutSignal(2 ** 40), timeoutSignal(2 ** 31 - 0.5)];
  const soon = timeoutSignal(0.5);
  if (!soon.aborted) await once(soon, "abort");
  equal(soon.reason.name, "TimeoutError");
  for (const signal of endless) equal(signal.aborted, false);
});
