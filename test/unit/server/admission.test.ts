import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import type { Busy } from "#src/era/busy.js";
import { Admission, type CountedCall } from "#src/server/admission.js";
import type { HttpServerOptions } from "#src/server/options.js";

function admitting(limits: object, http: HttpServerOptions = {}) {
  const clock = new FakeClock();
  const warnings: string[] = [];
  const reports: unknown[] = [];
  const all = { maxCalls: 10, maxCallsPerSession: 10, maxCallsPerPrincipal: 10, anonymousShare: 0.75, ...limits };
  const warn = (text: string) => void warnings.push(text);
  const report = (error: unknown) => void reports.push(error);
  const runtime = { limits: all, clock, options: { http }, warn, report };
  return { clock, warnings, reports, admission: new Admission(runtime as never, http.gate !== undefined) };
}

const call = (session?: { running: number }, principal?: string, method = "tools/call") =>
  ({ method, session, origin: { principal } }) as never;
/** Call of a caller without a principal. */
const from = (remote?: string): CountedCall =>
  ({ method: "tools/call", session: undefined, origin: { remote, url: "/mcp", header: () => undefined } }) as never;
const limitOf = (busy: Busy | undefined) => (busy?.data as { readonly limit: string } | undefined)?.limit;

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

const gate = () => ({});
const times = <T>(count: number, run: () => T) => Array.from({ length: count }, run);

test("behind a gate, callers without a name leave a part of the calls to those with one", () => {
  const { admission } = admitting({ maxCalls: 8, anonymousShare: 0.5 }, { gate });
  const held = times(4, () => from());
  for (const each of held) equal(admission.enter(each), undefined);
  const busy = admission.enter(from());
  deepEqual([busy?.status, limitOf(busy), admission.running], [503, "anonymousShare", 4]);
  for (const _ of held) equal(admission.enter(call(undefined, "p")), undefined);
  equal(limitOf(admission.enter(call(undefined, "p"))), "maxCalls");
  admission.leave(held[0] as CountedCall);
  equal(admission.enter(from()), undefined);
});

test("where nobody can have a name, callers without one may run all calls, until the first name", () => {
  const { admission } = admitting({ maxCalls: 8, maxCallsPerPrincipal: 100, anonymousShare: 0.5 });
  const held = times(8, () => from());
  for (const each of held) equal(admission.enter(each), undefined);
  equal(limitOf(admission.enter(from())), "maxCalls");
  for (const each of held.slice(4)) admission.leave(each);
  // A framework in front of the server may name callers too.
  equal(admission.enter(call(undefined, "p")), undefined);
  equal(limitOf(admission.enter(from())), "anonymousShare");
});

test("when half of what callers without a name may run is in use, each may run its share of the rest", () => {
  const { admission } = admitting({ maxCalls: 20, maxCallsPerPrincipal: 2 });
  const [early, late] = [times(10, () => from("a")), times(2, () => from("a"))];
  for (const each of [...early, ...late]) equal(admission.enter(each), undefined);
  const busy = admission.enter(from("a"));
  deepEqual([busy?.status, limitOf(busy)], [429, "maxCallsPerPrincipal"]);
  for (const each of [from("b"), from("b")]) equal(admission.enter(each), undefined);
  equal(limitOf(admission.enter(from("b"))), "maxCallsPerPrincipal");
  // Requests of which nothing is known cannot be told apart.
  for (let more = 0; more < 6; more++) equal(admission.enter(from()), undefined);
  equal(limitOf(admission.enter(from("c"))), "maxCalls");
  for (const each of late) admission.leave(each);
  deepEqual([admission.enter(from("a")), admission.enter(from("a"))], [undefined, undefined]);
});

test("the address of a caller is what the author says, and an error of the author refuses nobody", () => {
  const remoteOf = ({ remote }: { readonly remote: string | undefined }) => {
    if (remote === undefined) throw new Error("no address");
    return "all";
  };
  const { admission, reports } = admitting({ maxCalls: 20, maxCallsPerPrincipal: 1 }, { remoteOf });
  for (let early = 0; early < 10; early++) admission.enter(from("a"));
  equal(reports.length, 0);
  deepEqual([admission.enter(from("a"))?.status, admission.enter(from("b"))?.status], [undefined, 429]);
  equal(admission.enter(from()), undefined);
  deepEqual(
    reports.map((error) => (error as Error).message),
    ["no address"],
  );
});

test("streams that stay open are not counted", () => {
  const { admission } = admitting({ maxCalls: 0 });
  equal(admission.enter(call(undefined, undefined, "subscriptions/listen")), undefined);
  admission.leave(call(undefined, undefined, "subscriptions/listen"));
  equal(admission.running, 0);
});

test("notifications have the bound of calls, and refusals are counted and warned of from time to time", () => {
  const { admission, warnings, clock } = admitting({ maxCalls: 1 });
  deepEqual([admission.enterNotification(undefined), admission.enterNotification(undefined)], [true, false]);
  equal(admission.refused, 1);
  admission.enterNotification(undefined);
  equal(warnings.length, 1);
  clock.advance(1e9);
  admission.enterNotification(undefined);
  equal(warnings.length, 2);
  equal(admission.refused, 3);
});

test("behind a gate, notifications without a name leave a part to those with one", () => {
  const { admission } = admitting({ maxCalls: 4, anonymousShare: 0.5 }, { gate });
  const enter = (principal?: string) => admission.enterNotification(principal);
  deepEqual([enter(), enter(), enter(), enter("p"), enter("p"), enter("p")], [true, true, false, true, true, false]);
  admission.leaveNotification(undefined);
  deepEqual([enter(), enter("p"), admission.notifications], [true, false, 4]);
});
