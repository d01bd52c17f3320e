import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { type Journal, NO_JOURNAL, withQuestion } from "#src/journal/journal.js";
import type { JournalKeeper } from "#src/journal/run.js";
import { McpError, RpcError, ToolError, UrlElicitationRequiredError, UserRejectedError } from "#src/protocol/errors.js";
import { TaskExecution, TaskSuspended } from "#src/tasks/server/execution.js";
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
  const task = new TaskExecution({ keeper, capabilities, clock, replayMs: 1_000, end });
  return { task, run: task.run, keeper, clock, end };
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
  equal(second.missing, undefined);
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
  equal(second.missing, undefined);
  equal(later.past.length, 0, "nothing is recorded again");
  for (const name of names) equal(await second.step(name, () => "now"), "now");
  const third = execution(stored(later.journal)).run;
  for (const name of names) {
    await failureOf(third.step(name, refuse));
    await failureOf(third.step(name, refuse));
    equal(await third.step(name, refuse), "now");
    equal(await third.step(name, refuse), "now");
  }
  equal(third.missing, undefined);
});

test("a handler that takes fewer outcomes of a step than are recorded was changed", async () => {
  const failures = [
    { kind: "error", message: "1" },
    { kind: "error", message: "2" },
  ] as const;
  const { task, run } = execution(new Keeper({ ...NO_JOURNAL, failed: { a: failures } }));
  await failureOf(run.step("a", refuse));
  throws(() => task.assertComplete(), { code: "definition_changed" });
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
  const { task, run, keeper, end } = execution();
  await failureOf(run.step("asks", () => task.ask(ASK, {})));
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
  const { task, run, clock } = execution(new Keeper({ ...NO_JOURNAL, steps: { done: 1 }, begun: ["a", "b"] }));
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
  task.assertComplete();
  throws(() => execution(new Keeper({ ...NO_JOURNAL, begun: ["a"] })).task.assertComplete(), {
    code: "definition_changed",
  });
});

test("a step without a value is recorded as null", async () => {
  const { run, keeper } = execution();
  equal(await run.step("nothing", () => undefined), undefined);
  equal(keeper.journal.steps.nothing, null);
});

test("a journal that cannot be kept ends the task, whatever the handler does", async () => {
  const { task, run, keeper } = execution();
  keeper.failure = new Error("full");
  await rejects(
    run.step("a", () => 1),
    /full/,
  );
  match(String(task.broken), /full/);
});

test("a new step waits until all that is recorded was asked for", async () => {
  const journal = {
    ...NO_JOURNAL,
    steps: { a1: 1, a2: 2 },
    asked: { q: { text: TEXT, times: 1 } },
    answers: { q: "x" },
  };
  const { task, run, clock } = execution(new Keeper(journal));
  const order: string[] = [];
  const first = run.step("new", () => order.push("new"));
  await turn();
  await run.step("a1", () => order.push("a1"));
  await run.step("a2", () => order.push("a2"));
  await turn();
  deepEqual(order, []);
  equal(await task.ask(ASK, { key: "q" }), "x");
  await first;
  deepEqual(order, ["new"]);
  equal(clock.pending, 0);
});

test("a new step fails if something recorded is not asked for in time", async () => {
  const { task, run, clock } = execution(new Keeper({ ...NO_JOURNAL, steps: { old: 1 } }));
  let ran = false;
  const step = run.step("new", () => {
    ran = true;
  });
  const failed = rejects(step, { code: "definition_changed" });
  await clock.started(1);
  clock.advance(1_000);
  await failed;
  equal(ran, false);
  ok(task.broken !== undefined);
  throws(() => task.assertComplete(), { code: "definition_changed" });
});

test("the end of a run ends its waits", async () => {
  const { task, run, clock, end } = execution(new Keeper({ ...NO_JOURNAL, steps: { old: 1 } }));
  const reason = new Error("over");
  const failed = rejects(
    run.step("new", () => 1),
    reason,
  );
  await clock.started(1);
  end.abort(reason);
  await failed;
  equal(clock.pending, 0);
  equal(task.broken, undefined);
});

test("a question without an answer suspends, and later steps do not begin", async () => {
  const { task, run, keeper } = execution();
  const open = gate();
  const underWay = run.step("under way", () => open.opened);
  await turn();
  await rejects(task.ask(ASK, {}), TaskSuspended);
  deepEqual([...task.questions.keys()], ["ask-1"]);
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
    const { task } = execution(new Keeper({ ...NO_JOURNAL, asked }));
    task.open({ key, request: ASK });
    return [...task.questions.keys()][0];
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
  const fits = execution(new Keeper(journal)).task;
  equal(await fits.ask(ASK, { key: "q", check: () => undefined }), "x");
  for (const [request, check] of [
    [ASK, () => "no"],
    [{ method: "elicitation/create", params: { message: "other" } } as never, () => undefined],
  ] as const) {
    const { task } = execution(new Keeper(journal));
    await rejects(task.ask(request, { key: "q", check }), TaskSuspended);
    deepEqual([...task.questions.keys()], ["q.2"]);
  }
});

test("two questions with one key and a request to the client are mistakes", async () => {
  const { task } = execution();
  await rejects(task.ask(ASK, { key: "q" }), TaskSuspended);
  await rejects(task.ask(ASK, { key: "q" }), /two questions have the key "q"/);
  ok(task.broken !== undefined);
  await rejects(task.push("com.example/x"), { code: "no_server_requests" });
});

test("parts of a step that is done are not asked for again", async () => {
  const keeper = new Keeper();
  const first = execution(keeper);
  const ask = (run: TaskExecution) => run.ask(ASK, {});
  const order = ({ run, task }: ReturnType<typeof execution>) =>
    run.step("order", async () => [await run.step("price", () => 7), await ask(task)]);
  await rejects(order(first), TaskSuspended);
  const answered = stored({ ...withQuestion(keeper.journal, open(first.task)), answers: { "ask-1": "Oslo" } });
  const second = execution(answered);
  deepEqual(await order(second), [7, "Oslo"]);
  const third = execution(stored(answered.journal));
  deepEqual(await third.run.step("order", refuse), [7, "Oslo"]);
  equal(await third.run.step("mail", () => "sent"), "sent");
  third.task.assertComplete();
});

/** Returns the open question of a run as it is recorded. */
function open({ questions }: TaskExecution) {
  const [question] = questions.values();
  return { key: String(question?.key), within: question?.within, text: TEXT };
}

test("a step that is tried again runs those of its parts that failed, and asks its questions again", async () => {
  const keeper = new Keeper();
  const paid: string[] = [];
  const attempt = ({ run, task }: ReturnType<typeof execution>, card: string) =>
    run.step("order", async () => {
      await run.step("reserve", () => paid.push("reserve"));
      await run.step("pay", () => {
        paid.push(card);
        if (card !== "good") throw new ToolError(`${card} card`);
      });
      return task.ask(ASK, {});
    });
  const first = execution(keeper);
  await rejects(attempt(first, "bad"), /bad card/);
  const second = execution(stored(keeper.journal));
  await rejects(attempt(second, "unused"), /bad card/);
  equal(second.run.missing, undefined);
  await rejects(attempt(second, "good"), TaskSuspended);
  deepEqual(paid, ["reserve", "bad", "good"]);
});

test("a question that was asked in a failed attempt is another one in the next", async () => {
  const failed = { kind: "tool", message: "no", parts: { "question ask-1": 1 } } as const;
  const keeper = new Keeper({
    ...NO_JOURNAL,
    failed: { order: [failed] },
    asked: { "ask-1": { text: TEXT, times: 1 } },
    answers: { "ask-1": "first" },
    within: { "question ask-1": ["order"] },
  });
  const { run, task } = execution(keeper);
  await rejects(run.step("order", refuse), /no/);
  await rejects(
    run.step("order", () => task.ask(ASK, {})),
    TaskSuspended,
  );
  deepEqual([...task.questions.keys()], ["ask-2"]);
});

test("questions without a key are told apart by their texts, and by their order if a text is new", async () => {
  const request = (message: string) => ({ method: "elicitation/create", params: { message } }) as never;
  const asked = { "ask-1": { text: JSON.stringify(request("a")), times: 1 }, "ask-2": { text: TEXT, times: 1 } };
  const { task } = execution(new Keeper({ ...NO_JOURNAL, asked, answers: { "ask-1": "of a", "ask-2": "of ?" } }));
  equal(await task.ask(ASK, {}), "of ?");
  equal(await task.ask(request("a"), {}), "of a");
  const { task: other } = execution(
    new Keeper({ ...NO_JOURNAL, asked, answers: { "ask-1": "of a", "ask-2": "of ?" } }),
  );
  await rejects(other.ask(request("a, at noon"), {}), TaskSuspended);
  equal(await other.ask(ASK, {}), "of ?");
  deepEqual([...other.questions.keys()], ["ask-1.2"]);
});
