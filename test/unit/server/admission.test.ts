import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { Admission } from "#src/server/admission.js";

function admitting(limits: object) {
  const clock = new FakeClock();
  const warnings: string[] = [];
  const all = { maxCalls: 10, maxCallsPerSession: 10, maxCallsPerPrincipal: 10, ...limits };
  const runtime = { limits: all, clock, warn: (text: string) => void warnings.push(text) };
  return { clock, warnings, admission: new Admission(runtime as never) };
}

const call = (session?: { running: number }, principal?: string, method = "tools/call") =>
  ({ method, session, origin: { principal } }) as never;

for (const [limit, status, session, principal] of [
  ["maxCalls", 503, undefined, undefined],
  ["maxCallsPerSession", 429, { running: 0 }, undefined],
  ["maxCallsPerPrincipal", 429, undefined, "p"],
] as const) {
  test(`${limit}: exactly as many calls run at a time, and one more when one has left`, () => {
    const { admission, warnings } = admitting({ [limit]: 2 });
    const enter = () => admission.enter(call(session, principal));
    deepEqual([enter(), enter()], [undefined, undefined]);
    equal(admission.running, 2);
    const busy = enter();
    equal(busy?.status, status);
    equal(busy?.message.includes("2"), true, busy?.message);
    equal(admission.refused, 1);
    equal(admission.running, 2);
    equal(warnings.length, 1);
    admission.leave(call(session, principal));
    equal(enter(), undefined);
    equal(enter()?.status, status);
    admission.leave(call(session, principal));
    admission.leave(call(session, principal));
    equal(admission.running, 0);
  });
}

test("others have their own share", () => {
  const { admission } = admitting({ maxCallsPerSession: 1, maxCallsPerPrincipal: 1 });
  const [one, two] = [{ running: 0 }, { running: 0 }];
  equal(admission.enter(call(one, "p")), undefined);
  equal(admission.enter(call(two, "q")), undefined);
  equal(admission.enter(call(one, "r"))?.status, 429);
  equal(admission.enter(call(undefined, "p"))?.status, 429);
  deepEqual([one.running, two.running], [1, 1]);
});

test("streams that stay open are not counted", () => {
  const { admission } = admitting({ maxCalls: 0 });
  equal(admission.enter(call(undefined, undefined, "subscriptions/listen")), undefined);
  admission.leave(call(undefined, undefined, "subscriptions/listen"));
  equal(admission.running, 0);
});

test("notifications have the bound of calls, and refusals are counted and warned of from time to time", () => {
  const { admission, warnings, clock } = admitting({ maxCalls: 1 });
  deepEqual([admission.enterNotification(), admission.enterNotification()], [true, false]);
  equal(admission.refused, 1);
  admission.enterNotification();
  equal(warnings.length, 1);
  clock.advance(1e9);
  admission.enterNotification();
  equal(warnings.length, 2);
  equal(admission.refused, 3);
});
