import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { AbortSwitch } from "#src/call/abort-switch.js";
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

test("a step that has failed stays begun and runs again", async () => {
  const { run, keeper } = execution();
  await rejects(
    run.step("a", () => Promise.reject(new Error("no"))),
    /no/,
  );
  deepEqual(keeper.journal.begun, ["a"]);
  equal(await run.step("a", () => "yes"), "yes");
  deepEqual(keeper.journal, { ...NO_JOURNAL, steps: { a: "yes" } });
});

test("a step without a value is recorded as null, one that is no JSON is refused", async () => {
  const { run, keeper } = execution();
  equal(await run.step("nothing", () => undefined), undefined);
  equal(keeper.journal.steps.nothing, null);
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  await rejects(
    run.step("cycle", () => cycle),
    /the value of step "cycle" cannot be written as JSON/,
  );
  equal("cycle" in keeper.journal.steps, false);
  const date = new Date(0);
  await run.step("date", () => date);
  equal(keeper.journal.steps.date, date.toISOString());
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
