import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { loadScript } from "./load-script.js";

type Fields = Readonly<Record<string, unknown>>;

interface Judgement {
  readonly counts: Readonly<Record<string, number>>;
  readonly recovery: Readonly<Record<string, number>>;
  readonly rules: readonly { readonly rule: string; readonly violations: readonly string[] }[];
  readonly problems: readonly string[];
}

const { judge } = await loadScript<{ judge(history: Fields): Judgement }>("chaos/tasks/check.mjs");

const entry = (kind: string, at: number, details: Fields = {}) => ({ kind, node: "n0.1", number: 0, at, ...details });
const step = (kind: string, at: number, details: Fields = {}) => entry(kind, at, { step: "0", value: "v", ...details });
const ON_OTHER = { node: "n1.2" };
const KILL = { node: "n0.1", at: 150 };

/** Run of a task with one step. */
const RUN = [
  entry("begin", 100, { step: "restartable" }),
  step("step", 110),
  step("done", 120),
  step("kept", 130),
  entry("end", 140),
];
/** Run that is lost in its step, and the run that takes over. */
const LOST = [entry("begin", 100, { step: "restartable" }), step("step", 110)];
const FRAGILE = (truth: readonly Fields[]) =>
  truth.map((line) => (line.kind === "begin" ? { ...line, step: "fragile" } : line));
/** Run that ends by an abort in its step. */
const ABORTED = [...LOST, entry("abort", 150)];
const TAKEN = RUN.map((line) => ({ ...line, ...ON_OTHER, at: line.at + 4_000 }));

const sees = (status: string, at: number, detail?: string) => ({ status, at, detail });
const COMPLETED = [sees("working", 90), sees("completed", 5_000), sees("completed", 5_000, "v")];
const WORKER_LOST = [sees("working", 90), sees("failed", 5_000), sees("failed", 5_000, "worker_lost")];

const task = (details: Fields = {}) => ({
  number: 0,
  tool: "restartable",
  steps: 1,
  asks: false,
  token: "t0",
  seen: COMPLETED,
  ...details,
});

const history = (details: Fields = {}): Fields => ({
  tasks: [task()],
  truth: RUN,
  kills: [],
  uncertain: [],
  waits: [],
  stalls: [],
  machine: [],
  begunAt: 0,
  endedAt: 100_000,
  accidents: [],
  floors: {},
  ...details,
});

const brokenBy = (details: Fields) =>
  judge(history(details))
    .rules.filter(({ violations }) => violations.length > 0)
    .map(({ rule }) => rule);

const fragile = (seen: unknown, details: Fields = {}) => ({ tasks: [task({ tool: "fragile", seen })], ...details });

/** Request for the result of task 0, which its process does not answer unless it is given. */
const attempt = (details: Fields = {}) => ({ node: "n0.1", at: 100, until: 200, how: "error", ...details });
const waits = (text: string | undefined, ...attempts: readonly Fields[]) => ({
  waits: [{ number: 0, steps: 1, id: "t", text, attempts }],
});
const GONE = { code: -32006 };
const record = (name: string, details: Fields = {}) => ({ kind: "record", name, leftMs: 9, ...details });
const indexed = (of: string, name: string) => ({ kind: "index entry", name, of });
/** Contents of an engine of which a part should not be there. */
const LEFT: readonly (readonly [name: string, ...left: readonly Fields[]])[] = [
  ["the job of a task that has ended is left", record("job/task:t:1")],
  ["the lease of a task that has ended is left", record("lease/task:t")],
  ["a task that has ended counts as live", record("task:t"), indexed("task:t", "tasks:live:named")],
  ["a task is left for ever", record("task:t", { leftMs: undefined })],
  ["an entry of a task is left without its record", indexed("task:t", "tasks:ended of p")],
  ["a task runs that no call can have begun", record("task:u"), indexed("task:u", "tasks:live:named")],
  ["a session that was ended is left", record("session:x")],
  ["a question is left", record("question:n0:1")],
];

/** Histories that break one rule each. */
const VIOLATIONS: readonly (readonly [rule: string, name: string, details: Fields])[] = [
  [
    "each task has one outcome",
    "a task goes on for ever",
    { tasks: [task({ seen: [sees("working", 90)] })], truth: LOST },
  ],
  ...(
    [
      ["a request ends with an error that does not pass", attempt({ code: -32603 })],
      ["a request ends with a status that does not pass", attempt({ status: 404 })],
      ["a request is told that its process is gone, which nobody killed", attempt(GONE)],
      ["a request ends without a response, and nobody killed its process", attempt({ how: "broken" })],
      ["a request hangs", attempt({ how: "hangs" })],
    ] as const
  ).map(([name, first]): readonly [string, string, Fields] => [
    "requests for results end with the result, or pass",
    name,
    waits("v", first, attempt({ how: "result", node: "n1.2" })),
  ]),
  ["each request for a result gets it at last", "a result never comes", waits(undefined, attempt({ how: "refused" }))],
  ["each request for a result gets it at last", "another result comes", waits("w", attempt({ how: "result" }))],
  ...LEFT.map(([name, ...left]): readonly [string, string, Fields] => [
    "nothing is left in the engine",
    name,
    { tasks: [task({ id: "t" })], ends: [{ session: "x", status: 204, at: 1 }], left },
  ]),
  [
    "each task has one outcome",
    "a worker does not know a task",
    { tasks: [task({ seen: [sees("working", 90), sees("unknown", 95)] })] },
  ],
  [
    "an outcome never changes",
    "a completed task is cancelled",
    { tasks: [task({ seen: [...COMPLETED, sees("cancelled", 6_000)] })] },
  ],
  [
    "an outcome never changes",
    "a completed task works again",
    { tasks: [task({ seen: [...COMPLETED, sees("working", 6_000)] })] },
  ],
  [
    "an outcome never changes",
    "a task has two errors",
    fragile([...WORKER_LOST, sees("failed", 6_000, "unknown_tool"), sees("failed", 6_000, "worker_lost")], {
      kills: [KILL],
      truth: LOST,
    }),
  ],
  [
    "results have the values of steps and answers",
    "a result has another value",
    { tasks: [task({ seen: [sees("completed", 5_000, "w")] })] },
  ],
  ["results have the values of steps and answers", "a result lacks the answer", { tasks: [task({ asks: true })] }],
  [
    "a step that is done is not run again",
    "a done step begins on another worker",
    { kills: [KILL], truth: [...RUN.slice(0, 4), ...TAKEN] },
  ],
  [
    "a step that is done is not run again",
    "a step returns two values",
    {
      truth: [
        ...RUN.slice(0, 3),
        step("done", 125, { value: "w" }),
        step("kept", 126, { value: "w" }),
        ...RUN.slice(3),
      ],
    },
  ],
  [
    "a step that is done is not run again",
    "a step returns a value that nobody made",
    { truth: RUN.filter(({ kind }) => kind !== "done") },
  ],
  ["a step begins again only if its run was lost", "two workers run a step", { truth: [...LOST, ...TAKEN] }],
  [
    "a step begins again only if its run was lost",
    "a worker is killed after the step has begun elsewhere",
    { truth: [...LOST, ...TAKEN], kills: [{ node: "n0.1", at: 9_000 }] },
  ],
  [
    "a tool that is not restartable runs once",
    "a fragile task begins again",
    fragile(WORKER_LOST, { kills: [KILL], truth: FRAGILE([...LOST, ...TAKEN]) }),
  ],
  [
    "a tool that is not restartable runs once",
    "a fragile task that no client knows begins again",
    {
      kills: [KILL],
      uncertain: [{ number: 1 }],
      truth: [...RUN, ...FRAGILE([...LOST, ...TAKEN]).map((line) => ({ ...line, number: 1 }))],
    },
  ],
  ["a run is aborted only for a cause", "a run is aborted by nobody", { truth: ABORTED, tasks: [] }],
  [
    "a run is aborted only for a cause",
    "a run is aborted after a short stall",
    { truth: ABORTED, tasks: [], stalls: [{ kind: "stall", nodes: ["n0.1"], at: 50, until: 1_100 }] },
  ],
  [
    "a run is aborted only for a cause",
    "a run is aborted after a stall of another worker",
    { truth: ABORTED, tasks: [], stalls: [{ kind: "stall", nodes: ["n1.2"], at: -3_000, until: 145 }] },
  ],
  [
    "a lost process is told as worker_lost",
    "a fragile task is told as lost before its worker is killed",
    fragile(WORKER_LOST, { kills: [{ node: "n0.1", at: 9_000 }] }),
  ],
  [
    "a lost process is told as worker_lost",
    "a fragile task is told as lost while its worker lives",
    fragile(WORKER_LOST),
  ],
  [
    "a lost process is told as worker_lost",
    "a fragile task fails in another way",
    fragile([sees("failed", 5_000, "unknown_tool")], { kills: [KILL], truth: LOST }),
  ],
  [
    "a lost process is told as worker_lost",
    "a fragile task is completed without its end",
    fragile(COMPLETED, { kills: [KILL], truth: RUN.slice(0, -1) }),
  ],
  [
    "restartable tasks outlive their processes",
    "a restartable task fails",
    { tasks: [task({ seen: WORKER_LOST })], kills: [KILL], truth: LOST },
  ],
  [
    "tasks are cancelled by clients only",
    "a task is cancelled by nobody",
    { tasks: [task({ seen: [sees("cancelled", 5_000)] })] },
  ],
  [
    "nothing begins after the outcome",
    "a cancelled task begins a step",
    {
      tasks: [task({ isCancelAsked: true, seen: [sees("cancelled", 100)] })],
      truth: [entry("begin", 90), step("step", 1_200)],
    },
  ],
  [
    "no errors of defects",
    "a worker reports an error of its program",
    { nodeErrors: new Map([["tool fragile: TypeError: x is not a function", 1]]) },
  ],
];

describe("judge of the chaos of tasks", () => {
  test("accepts a task that completes", () => {
    deepEqual(brokenBy({}), []);
    deepEqual(judge(history()).problems, []);
  });

  test("accepts a step that runs again after a kill, and counts the takeover", () => {
    const { counts, recovery, problems } = judge(history({ truth: [...LOST, ...TAKEN], kills: [KILL] }));
    deepEqual(recovery, { p50: 3_950, p99: 3_950, max: 3_950 });
    deepEqual(problems, []);
    const { takeovers, stepsAgain, kills } = counts;
    deepEqual({ takeovers, stepsAgain, kills }, { takeovers: 1, stepsAgain: 1, kills: 1 });
  });

  test("accepts a run that is aborted since its task is cancelled, or since its worker did not run for about a lease", () => {
    const cancelled = task({ isCancelAsked: true, seen: [sees("cancelled", 200)] });
    deepEqual(judge(history({ truth: ABORTED, tasks: [cancelled] })).problems, []);
    const stalls = [{ kind: "stall", nodes: ["n0.1"], at: -2_500, until: 145 }];
    const { problems, counts } = judge(history({ truth: [...ABORTED, ...TAKEN], stalls }));
    deepEqual([problems, counts.stalls], [[], 1]);
  });

  test("accepts a fragile task that is lost with its worker", () => {
    const { counts, problems } = judge(history(fragile(WORKER_LOST, { kills: [KILL], truth: LOST })));
    deepEqual(problems, []);
    equal(counts.lostFragile, 1);
  });

  test("accepts a run that parks and goes on elsewhere with its answer", () => {
    const parked = [...RUN.slice(0, 4), entry("park", 140)];
    const goesOn = [entry("begin", 300, ON_OTHER), step("kept", 310, ON_OTHER), entry("answered", 320, ON_OTHER)];
    const { counts, problems } = judge(
      history({
        tasks: [task({ asks: true, seen: [sees("input_required", 150), sees("completed", 400, "v t0")] })],
        truth: [...parked, ...goesOn, entry("end", 330, ON_OTHER)],
      }),
    );
    deepEqual(problems, []);
    deepEqual([counts.questions, counts.takeovers], [1, 0]);
  });

  test("accepts a request for a result that its killed process ends, and counts the result of another one", () => {
    const ends = [attempt({ ...GONE, isResumed: true }), attempt({ how: "broken" }), attempt({ how: "refused" })];
    for (const end of ends) {
      const details = waits("v", end, attempt({ status: 503 }), attempt({ how: "result", node: "n1.2" }));
      const { counts, problems } = judge(history({ ...details, kills: [KILL], truth: [...LOST, ...TAKEN] }));
      deepEqual(problems, []);
      deepEqual([counts.waits, counts.resultsElsewhere], [1, end.how === "refused" ? 0 : 1]);
    }
    const late = waits("v", attempt({ how: "broken", at: 160, until: 170 }), attempt({ how: "result" }));
    deepEqual(brokenBy({ ...late, kills: [KILL], truth: [...LOST, ...TAKEN] }), []);
    deepEqual(brokenBy({ ...late, kills: [{ ...KILL, at: 171 }], truth: [...LOST, ...TAKEN] }), [
      "requests for results end with the result, or pass",
    ]);
    const details = waits("v", attempt({ how: "broken", isResumed: true }), attempt({ how: "result" }));
    deepEqual(brokenBy({ ...details, kills: [KILL], truth: [...LOST, ...TAKEN] }), [
      "requests for results end with the result, or pass",
    ]);
  });

  test("accepts outcomes that are kept, and tasks of calls with an unknown outcome", () => {
    const outcome = [record("task:t"), indexed("task:t", "tasks:ended of p"), indexed("task:t", "tasks:listed for p")];
    const open = [record("task:u"), indexed("task:u", "tasks:live:named"), record("job/task:u:1")];
    const details = { tasks: [task({ id: "t" })], left: [...outcome, ...open, indexed("job/task:u:1", "jobs")] };
    deepEqual(brokenBy({ ...details, uncertain: [{ number: 1 }] }), []);
    deepEqual(brokenBy(details), ["nothing is left in the engine"]);
  });

  test("does not count the kill of an idle worker", () => {
    equal(
      judge(
        history({
          kills: [
            { node: "n2.3", at: 120 },
            { node: "n0.1", at: 200 },
          ],
        }),
      ).counts.kills,
      0,
    );
  });

  test("counts an end that a client that watches sees at once", () => {
    const seen = [sees("completed", 500, "v")];
    equal(judge(history({ tasks: [task({ seen, isWatched: true })] })).counts.told, 1);
    equal(judge(history({ tasks: [task({ isWatched: true })] })).counts.told, 0);
  });

  for (const [rule, name, details] of VIOLATIONS)
    test(`${rule}: ${name}`, () => {
      deepEqual(brokenBy(details), [rule]);
      match(judge(history(details)).problems.join(), new RegExp(rule));
    });

  test("fails below a floor, and if a worker dies by itself", () => {
    deepEqual(judge(history({ floors: { tasks: 2 }, accidents: ["n0.1 ended with 1"] })).problems, [
      "floor not reached: tasks 1 of 2",
      "a worker died by itself: n0.1 ended with 1",
    ]);
  });
});
