import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { McpError, RpcError, ToolError, UrlElicitationRequiredError, UserRejectedError } from "#src/protocol/errors.js";
import { type JournalKeeper, TaskExecution, TaskSuspended } from "#src/tasks/server/execution.js";
import { type Journal, NO_JOURNAL } from "#src/tasks/server/record.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { gate } from "../../../support/gate.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const ASK = { method: "elicitation/create", params: { message: "?" } } as never;
const TEXT = JSON.stringify(ASK);

/** Keeps a journal in memory, and what it was at each time. */
class Keeper implements JournalKeeper {
  readonly past: Journal[] = [];
  failure: Error | undefined;
  constructor(public journal: Journal = NO_JOURNAL) {}

  async keep(change: (journal: Journal) => Journal): Promise<void> {
    await turn();
    if (this.failure !== undefined) throw this.failure;
    this.journal = change(this.journal);
    this.past.push(this.journal);
  }
}

function execution(keeper = new Keeper()) {
  const clock = new FakeClock();
  const end = new AbortSwitch();
  const capabilities = { elicitation: {} };
  const run = new TaskExecution({ keeper, capabilities, clock, replayMs: 1_000, signal: () => end.signal });
  return { run, keeper, clock, end };
}

test("a step is recorded before and after its work", async () => {
  const { run, keeper } = execution();
  const seen: (readonly string[])[] = [];
  equal(
    (await run.step("a", () => {
      seen.push(keeper.journal.begun);
      return { n: 1 } as unknown;
    })) instanceof Object,
    true,
  );
  deepEqual(seen, [["a"]]);
  deepEqual(keeper.journal, { ...NO_JOURNAL, steps: { a: { n: 1 } } });
});

test("a recorded step is not run, and names of the prototype are names", async () => {
  const names = ["a", "__proto__", "constructor", "toString"];
  const keeper = new Keeper();
  const first = execution(keeper).run;
  for (const name of names) await first.step(name, () => `value of ${name}`);
  const stored = JSON.parse(JSON.stringify(keeper.journal)) as Journal;
  const second = execution(new Keeper(stored)).run;
  for (const name of names)
    equal(await second.step(name, () => Promise.reject(new Error("it ran"))), `value of ${name}`);
  second.assertComplete();
});

test("steps with one name that overlap run once", async () => {
  const { run } = execution();
  let ran = 0;
  const step = () => run.step("a", () => ++ran);
  deepEqual(await Promise.all([step(), step()]), [1, 1]);
  equal(await step(), 1);
});

/** Returns what a step rejects with. */
const failureOf = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    () => Promise.reject(new Error("the step did not fail")),
    (thrown: unknown) => thrown,
  );
const stored = (journal: Journal) => new Keeper(JSON.parse(JSON.stringify(journal)) as Journal);
const refuse = () => Promise.reject(new Error("it ran"));

test("a step that has failed is recorded, and runs again if it is asked for again", async () => {
  const { run, keeper } = execution();
  await rejects(
    run.step("a", () => Promise.reject(new Error("no"))),
    /no/,
  );
  deepEqual(keeper.journal.begun, []);
  deepEqual(Object.keys(keeper.journal.failed ?? {}), ["a"]);
  equal(await run.step("a", () => "yes"), "yes");
  deepEqual(keeper.journal.steps, { a: "yes" });
  deepEqual(keeper.journal.begun, []);
});

test("each time that a step is asked for in a later run it has its next outcome, then its work runs", async () => {
  const names = ["a", "__proto__", "constructor"];
  const keeper = new Keeper();
  const first = execution(keeper).run;
  for (const name of names)
    for (const number of [1, 2])
      await failureOf(first.step(name, () => Promise.reject(new Error(`${name} ${number}`))));
  const later = stored(keeper.journal);
  const second = execution(later).run;
  for (const name of names)
    for (const number of [1, 2])
      match(String(await failureOf(second.step(name, refuse))), new RegExp(`${name} ${number}`));
  second.assertComplete();
  equal(later.past.length, 0, "nothing is recorded again");
  for (const name of names) equal(await second.step(name, () => "now"), "now");
  const third = execution(stored(later.journal)).run;
  for (const name of names) {
    await failureOf(third.step(name, refuse));
    await failureOf(third.step(name, refuse));
    equal(await third.step(name, refuse), "now");
    equal(await third.step(name, refuse), "now");
  }
  third.assertComplete();
});

test("steps with one name that overlap share a recorded failure", async () => {
  const keeper = new Keeper();
  const fail = (run: TaskExecution, work: () => Promise<never>) =>
    Promise.all([failureOf(run.step("a", work)), failureOf(run.step("a", work))]);
  await fail(execution(keeper).run, () => Promise.reject(new Error("no")));
  equal(keeper.journal.failed?.a?.length, 1);
  const { run } = execution(stored(keeper.journal));
  deepEqual((await fail(run, refuse)).map(String), ["Error: no", "Error: no"]);
  run.assertComplete();
});

test("a handler that takes fewer outcomes of a step than are recorded was changed", async () => {
  const failures = [
    { kind: "error", message: "1" },
    { kind: "error", message: "2" },
  ] as const;
  const { run } = execution(new Keeper({ ...NO_JOURNAL, failed: { a: failures } }));
  await failureOf(run.step("a", refuse));
  throws(() => run.assertComplete(), { code: "definition_changed" });
});

test("a recorded failure decides like the first one", async () => {
  class OwnError extends Error {
    override name = "OwnError";
  }
  const errors = [
    new ToolError("for\nthe model"),
    new RpcError(-31_000, "for the client", { field: "a" }),
    new UserRejectedError(),
    new McpError("own_code", "of this package"),
    Object.assign(new Error("no connection"), { code: "ECONNREFUSED" }),
    new TypeError("of the language"),
    new OwnError("of the author"),
    new Error(""),
  ];
  const seen = (error: unknown) => {
    const { name, message, code, rpcCode, data } = error as RpcError;
    const classes = [ToolError, RpcError, Error].map((type) => error instanceof type);
    return { name, message, code, rpcCode, data, classes };
  };
  for (const thrown of errors) {
    const keeper = new Keeper();
    await failureOf(execution(keeper).run.step("a", () => Promise.reject(thrown)));
    const again = await failureOf(execution(stored(keeper.journal)).run.step("a", refuse));
    deepEqual(seen(again), seen(thrown));
  }
  for (const thrown of ["text", 7, null, undefined, { a: 1 }]) {
    const keeper = new Keeper();
    await failureOf(execution(keeper).run.step("a", () => Promise.reject(thrown)));
    deepEqual(await failureOf(execution(stored(keeper.journal)).run.step("a", refuse)), thrown);
  }
});

test("long parts of a failure are not recorded", async () => {
  const long = "x".repeat(100_000);
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  for (const thrown of [
    new RpcError(-31_000, long, long),
    Object.assign(new Error(long), { code: long, name: long }),
    new RpcError(-31_000, "cycle", cycle),
    long,
    cycle,
  ]) {
    const keeper = new Keeper();
    await failureOf(execution(keeper).run.step("a", () => Promise.reject(thrown)));
    ok(JSON.stringify(keeper.journal).length < 10_000);
    await failureOf(execution(stored(keeper.journal)).run.step("a", refuse));
  }
});

test("a step that fails because its run has ended, or waits for the user, stays begun", async () => {
  const page = { elicitationId: "e", message: "Log in", url: "https://example.com" };
  const { run, keeper, end } = execution();
  await failureOf(run.step("asks", () => run.ask(ASK, {})));
  deepEqual(keeper.journal.begun, ["asks"]);
  const second = execution();
  await failureOf(second.run.step("login", () => Promise.reject(new UrlElicitationRequiredError([page]))));
  deepEqual(second.keeper.journal.begun, ["login"]);
  const third = execution();
  await failureOf(
    third.run.step("ends", () => {
      third.end.abort(new Error("over"));
      throw new Error("a mistake after the end");
    }),
  );
  deepEqual(third.keeper.journal.begun, ["ends"]);
  for (const { journal } of [keeper, second.keeper, third.keeper]) equal(journal.failed, undefined);
  equal(end.aborted, false);
});

test("a step that had begun runs at once, and later ones wait until it is asked for", async () => {
  const { run, clock } = execution(new Keeper({ ...NO_JOURNAL, steps: { done: 1 }, begun: ["a", "b"] }));
  const order: string[] = [];
  const later = run.step("new", () => order.push("new"));
  await run.step("a", () => order.push("a"));
  await run.step("done", refuse);
  await turn();
  deepEqual(order, ["a"]);
  await run.step("b", () => order.push("b"));
  await later;
  deepEqual(order.toSorted(), ["a", "b", "new"]);
  equal(clock.pending, 0);
  run.assertComplete();
  throws(() => execution(new Keeper({ ...NO_JOURNAL, begun: ["a"] })).run.assertComplete(), {
    code: "definition_changed",
  });
});

test("a step without a value is recorded as null", async () => {
  const { run, keeper } = execution();
  equal(await run.step("nothing", () => undefined), undefined);
  equal(keeper.journal.steps.nothing, null);
});

test("a journal that cannot be kept ends the task, whatever the handler does", async () => {
  const { run, keeper } = execution();
  keeper.failure = new Error("full");
  await rejects(
    run.step("a", () => 1),
    /full/,
  );
  match(String(run.broken), /full/);
});

test("a new step waits until all that is recorded was asked for", async () => {
  const journal = {
    ...NO_JOURNAL,
    steps: { a1: 1, a2: 2 },
    asked: { q: { text: TEXT, times: 1 } },
    answers: { q: "x" },
  };
  const { run, clock } = execution(new Keeper(journal));
  const order: string[] = [];
  const first = run.step("new", () => order.push("new"));
  await turn();
  await run.step("a1", () => order.push("a1"));
  await run.step("a2", () => order.push("a2"));
  await turn();
  deepEqual(order, []);
  equal(await run.ask(ASK, { key: "q" }), "x");
  await first;
  deepEqual(order, ["new"]);
  equal(clock.pending, 0);
});

test("a new step fails if something recorded is not asked for in time", async () => {
  const { run, clock } = execution(new Keeper({ ...NO_JOURNAL, steps: { old: 1 } }));
  let ran = false;
  const step = run.step("new", () => {
    ran = true;
  });
  const failed = rejects(step, { code: "definition_changed" });
  await clock.started(1);
  clock.advance(1_000);
  await failed;
  equal(ran, false);
  ok(run.broken !== undefined);
  throws(() => run.assertComplete(), { code: "definition_changed" });
});

test("the end of a run ends its waits", async () => {
  const { run, clock, end } = execution(new Keeper({ ...NO_JOURNAL, steps: { old: 1 } }));
  const reason = new Error("over");
  const failed = rejects(
    run.step("new", () => 1),
    reason,
  );
  await clock.started(1);
  end.abort(reason);
  await failed;
  equal(clock.pending, 0);
  equal(run.broken, undefined);
});

test("a question without an answer suspends, and later steps do not begin", async () => {
  const { run, keeper } = execution();
  const open = gate();
  const underWay = run.step("under way", () => open.opened);
  await turn();
  await rejects(run.ask(ASK, {}), TaskSuspended);
  deepEqual([...run.questions.keys()], ["ask-1"]);
  let ran = false;
  await rejects(
    run.step("later", () => {
      ran = true;
    }),
    TaskSuspended,
  );
  equal(ran, false);
  let isSettled = false;
  const settled = run.settled().then(() => {
    isSettled = true;
  });
  await turn();
  equal(isSettled, false);
  open.open();
  await settled;
  await underWay;
  deepEqual(Object.keys(keeper.journal.steps), ["under way"]);
});

test("keys on the wire are never used again", async () => {
  const keys = (asked: Journal["asked"], key: string) => {
    const { run } = execution(new Keeper({ ...NO_JOURNAL, asked }));
    run.open({ key, request: ASK });
    return [...run.questions.keys()][0];
  };
  const used = [
    keys({}, "a"),
    keys({ a: { text: TEXT, times: 1 } }, "a"),
    keys({ a: { text: TEXT, times: 2 } }, "a"),
    keys({}, "a.2"),
    keys({ "a.2": { text: TEXT, times: 1 } }, "a.2"),
    keys({}, "a.2.1"),
    keys({}, "toString"),
  ];
  deepEqual(used, ["a", "a.2", "a.3", "a.2.1", "a.2.2", "a.2.1.1", "toString"]);
});

test("a question is asked again if its text or its answer does not fit", async () => {
  const journal = { ...NO_JOURNAL, asked: { q: { text: TEXT, times: 1 } }, answers: { q: "x" } };
  const fits = execution(new Keeper(journal)).run;
  equal(await fits.ask(ASK, { key: "q", check: () => undefined }), "x");
  for (const [request, check] of [
    [ASK, () => "no"],
    [{ method: "elicitation/create", params: { message: "other" } } as never, () => undefined],
  ] as const) {
    const { run } = execution(new Keeper(journal));
    await rejects(run.ask(request, { key: "q", check }), TaskSuspended);
    deepEqual([...run.questions.keys()], ["q.2"]);
  }
});

test("two questions with one key and a request to the client are mistakes", async () => {
  const { run } = execution();
  await rejects(run.ask(ASK, { key: "q" }), TaskSuspended);
  await rejects(run.ask(ASK, { key: "q" }), /two questions have the key "q"/);
  ok(run.broken !== undefined);
  await rejects(run.push("com.example/x"), { code: "no_server_requests" });
});
