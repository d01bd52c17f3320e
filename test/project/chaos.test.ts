import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { loadScript } from "./load-script.js";

type Fields = Readonly<Record<string, unknown>>;

interface Judgement {
  readonly counts: Readonly<Record<string, number>>;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly recovery: { readonly p99: number };
  readonly rules: readonly { readonly rule: string; readonly violations: readonly string[] }[];
  readonly problems: readonly string[];
}

const { judge } = await loadScript<{ judge(history: Fields): Judgement }>("chaos/judge.mjs");
const { planFaults, lengthOf } = await loadScript<{
  planFaults(floors: Fields, random: object): readonly { readonly kind: string; readonly count: number }[];
  lengthOf(plan: readonly object[]): number;
}>("chaos/schedule.mjs");
const { sizeOf } = await loadScript<{
  sizeOf(isShort: boolean): { readonly floors: Readonly<Record<string, number>>; readonly limitMs: number };
}>("chaos/limits.mjs");
const { Random } = await loadScript<{ Random: new (seed: number) => object }>("scripts/oracle/corpus/random.mjs");

const RESULT = { at: 200, how: "result", text: "0 s" };
const ERROR = { at: 200, how: "error", name: "ConnectionError" };

/** A call of client `a`, with the number 0 unless it is given. */
function call(details: Fields = {}): Fields {
  const own = { number: 0, kind: "echo", client: "a", era: "legacy", session: "x", secret: "s", beganAt: 100 };
  return { ...own, settlements: [RESULT], notices: [], ...details };
}

const entry = (kind: string, subject: unknown, at = 150, details: Fields = {}) => ({
  kind,
  node: "n0",
  subject: String(subject),
  principal: "a",
  session: "x",
  at,
  ...details,
});

const RAN = [entry("begin", 0, 120), entry("end", 0, 130)];
const OPENED = [entry("open", "x", 50)];

/** History in which all is well. */
function history(details: Fields = {}): Fields {
  return {
    calls: [],
    sessions: new Map([["x", { client: "a", recovers: true, at: 50 }]]),
    uncertainHandshakes: 0,
    lostSessions: [],
    messages: [],
    watches: [],
    thefts: { tried: 0, served: 0 },
    strayQuestions: [],
    faults: [],
    accidents: [],
    floors: {},
    truth: OPENED,
    endedAt: 100_000,
    ...details,
  };
}

const broken = (details: Fields) =>
  judge(history(details))
    .rules.filter(({ violations }) => violations.length > 0)
    .map(({ rule }) => rule);

/** Histories that break one rule each. */
const VIOLATIONS: readonly (readonly [rule: string, name: string, details: Fields])[] = [
  [
    "calls settle exactly once",
    "a call never settles",
    { calls: [call({ settlements: [] })], truth: [...OPENED, ...RAN] },
  ],
  [
    "calls settle exactly once",
    "a call settles twice",
    { calls: [call({ settlements: [RESULT, RESULT] })], truth: [...OPENED, ...RAN] },
  ],
  [
    "calls reported as not delivered never ran",
    "a call that was refused has a begin",
    {
      calls: [call({ settlements: [{ ...ERROR, delivery: "refused", retrySafe: true }] })],
      truth: [...OPENED, ...RAN],
    },
  ],
  [
    "retrySafe follows from delivery",
    "a call that may have run is safe to repeat",
    { calls: [call({ settlements: [{ ...ERROR, delivery: "sent", retrySafe: true }] })] },
  ],
  ["results are true", "a call without a begin has a result", { calls: [call()] }],
  [
    "results are true",
    "a call without an end has a result",
    { calls: [call()], truth: [...OPENED, entry("begin", 0)] },
  ],
  [
    "results are true",
    "a call has the result of another",
    { calls: [call({ settlements: [{ ...RESULT, text: "1 s" }] })], truth: [...OPENED, ...RAN] },
  ],
  [
    "results are true",
    "a question has the answer of another",
    {
      calls: [call({ kind: "ask", token: "t", settlements: [{ ...RESULT, text: "0 s u" }] })],
      truth: [...OPENED, ...RAN],
    },
  ],
  [
    "results are true",
    "a call fails in a handler that did not fail",
    { calls: [call({ settlements: [{ ...RESULT, how: "failed" }] })], truth: [...OPENED, entry("begin", 0)] },
  ],
  [
    "calls run once",
    "a call begins on two nodes",
    { calls: [call()], truth: [...OPENED, ...RAN, entry("begin", 0, 140, { node: "n1" })] },
  ],
  [
    "calls run once",
    "a question is answered twice",
    {
      calls: [call({ era: "modern", kind: "ask", token: "t", settlements: [{ ...RESULT, text: "0 s t" }] })],
      truth: [...OPENED, ...RAN, entry("answered", 0), entry("answered", 0)],
    },
  ],
  [
    "nothing reaches another principal",
    "a call runs as another principal",
    { calls: [call()], truth: [...OPENED, entry("begin", 0, 120, { principal: "b" }), entry("end", 0)] },
  ],
  [
    "nothing reaches another principal",
    "a call runs in the session of another client",
    {
      calls: [call()],
      sessions: new Map([["y", { client: "b" }]]),
      truth: [entry("open", "y", 50), entry("begin", 0, 120, { session: "y" }), entry("end", 0)],
    },
  ],
  ["nothing reaches another principal", "a stolen session is served", { thefts: { tried: 1, served: 1 } }],
  [
    "nothing reaches another principal",
    "a question reaches another client",
    { strayQuestions: [{ client: "b", number: 0 }] },
  ],
  ...[
    { name: "a message of a call comes twice", seen: [1, 1, 2] },
    { name: "messages of a call change places", seen: [2, 1] },
    { name: "a message of a call is missing", seen: [1, 3] },
    { name: "the last message of a call is missing", seen: [1] },
  ].map(({ name, seen }): readonly [string, string, Fields] => [
    "messages of calls: once, in order, none missing",
    name,
    {
      calls: [call({ kind: "work", steps: 2, notices: seen.map((step) => ({ client: "a", step })) })],
      truth: [...OPENED, ...RAN],
    },
  ]),
  [
    "messages of calls: once, in order, none missing",
    "a message of a call reaches another client",
    {
      calls: [call({ kind: "work", steps: 1, notices: [{ client: "b", step: 1 }] })],
      truth: [...OPENED, ...RAN],
    },
  ],
  ...[
    { name: "a message of a session comes twice", seen: [1, 1] },
    { name: "messages of a session change places", seen: [2, 1] },
  ].map(({ name, seen }): readonly [string, string, Fields] => [
    "messages of sessions: at most once, in order",
    name,
    { messages: seen.map((number) => ({ client: "a", session: "x", from: "n0", number, at: 1 })) },
  ]),
  [
    "messages of sessions: none missing",
    "a message of a session is missing although no fault happened",
    { truth: [...OPENED, entry("hold", "x", 1_000), entry("tell", 1, 5_000)] },
  ],
  [
    "changes reach watches",
    "a watch is not told of a change",
    {
      truth: [...OPENED, entry("change", "u", 5_000)],
      watches: [{ client: "a", uris: ["u"], events: [{ kind: "resource", uri: "u", at: 4_000 }] }],
    },
  ],
  ["onOpen equals the sessions of clients", "onOpen is not called", { truth: [] }],
  ["onOpen equals the sessions of clients", "onOpen is called twice", { truth: [...OPENED, ...OPENED] }],
  [
    "onOpen equals the sessions of clients",
    "a session is opened without a client",
    { truth: [...OPENED, entry("open", "y")] },
  ],
  ["onEnd at most once", "onEnd is called twice", { truth: [...OPENED, entry("close", "x"), entry("close", "x")] }],
  [
    "sessions stay until their end",
    "a node no longer knows a session",
    { lostSessions: [{ session: "x", client: "a", at: 1 }] },
  ],
];

describe("the history checker of chaos", () => {
  for (const [rule, name, details] of VIOLATIONS) {
    test(`sees that ${name}`, () => {
      ok(broken(details).includes(rule), `${broken(details)}`);
      ok(judge(history(details)).problems.length > 0);
    });
  }

  test("has a test for each rule", () => {
    const seen = new Set(VIOLATIONS.map(([rule]) => rule));
    deepEqual(
      judge(history())
        .rules.map(({ rule }) => rule)
        .filter((rule) => !seen.has(rule)),
      [],
    );
  });
});

test("chaos accepts true verdicts of calls that ended in different ways", () => {
  const calls = [
    call(),
    call({ number: 1, settlements: [{ ...ERROR, delivery: "refused", retrySafe: true }] }),
    call({ number: 2, settlements: [{ ...ERROR, delivery: "answer_lost", retrySafe: false }] }),
    call({ number: 3, settlements: [{ ...ERROR, name: "RpcError", delivery: "answered", retrySafe: false }] }),
    call({ number: 4, settlements: [{ ...RESULT, how: "failed" }] }),
  ];
  const truth = [...OPENED, ...RAN, entry("begin", 2), entry("begin", 3), entry("begin", 4), entry("fail", 4)];
  const { problems, verdicts } = judge(history({ calls, truth }));
  deepEqual(problems, []);
  deepEqual(verdicts, {
    result: 1,
    "failed in its handler": 1,
    "unknown outcome": 2,
    "not delivered": 1,
    "timed out": 0,
  });
});

test("chaos lets a handler of 2026-07-28 run once more after an answer", () => {
  const asked = call({ era: "modern", kind: "ask", token: "t", settlements: [{ ...RESULT, text: "0 s t" }] });
  const truth = [
    ...OPENED,
    entry("begin", 0),
    entry("begin", 0, 160, { node: "n1" }),
    entry("answered", 0),
    entry("end", 0),
  ];
  const { problems, counts } = judge(history({ calls: [asked], truth }));
  deepEqual([problems, counts.questions], [[], 1]);
});

test("chaos excuses a message that a fault may have lost", () => {
  const truth = [...OPENED, entry("hold", "x", 1_000), entry("tell", 1, 5_000)];
  const fault = { kind: "kill", nodes: ["n0"], at: 5_100, until: 5_200 };
  deepEqual(broken({ truth, faults: [fault] }), []);
  deepEqual(broken({ truth, faults: [{ ...fault, nodes: ["n1"] }] }), ["messages of sessions: none missing"]);
});

test("chaos excuses a message of a node that a busy machine did not let run", () => {
  const truth = [...OPENED, entry("hold", "x", 1_000, { node: "n1" }), entry("tell", 1, 10_000)];
  const missing = "messages of sessions: none missing";
  deepEqual(broken({ truth }), [missing]);
  const got = { client: "a", session: "x", from: "n0", number: 2, at: 12_000 };
  deepEqual(broken({ truth: [...truth, entry("tell", 2, 12_500)], messages: [{ ...got, at: 9_000 }] }), []);
  deepEqual(broken({ truth: [...truth, entry("tell", 2, 11_000)], messages: [{ ...got, at: 9_000 }] }), [missing]);
});

test("chaos excuses a message that comes late, but not twice, after a takeover or a fault", () => {
  const get = (...numbers: number[]) =>
    numbers.map((number) => ({ client: "a", session: "x", from: "n0", number, at: 6_000 }));
  const once = "messages of sessions: at most once, in order";
  const held = [...OPENED, entry("hold", "x", 5_000)];
  const fault = { kind: "stop", nodes: ["n2"], at: 1_000, until: 5_000 };
  deepEqual(broken({ messages: get(2, 1) }), [once]);
  deepEqual(broken({ messages: get(2, 1), truth: held }), []);
  deepEqual(broken({ messages: get(2, 1), faults: [fault] }), []);
  deepEqual(broken({ messages: get(1, 2, 1), truth: held, faults: [fault] }), [once]);
});

test("chaos excuses a session, and its messages, that were lost with the whole state, but no later session", () => {
  const fault = { kind: "engine", nodes: ["n0"], at: 4_000, lostAt: 4_100, until: 5_000 };
  const lostSessions = [{ session: "x", client: "a", at: 6_000 }];
  const truth = [...OPENED, entry("hold", "x", 1_000), entry("tell", 1, 20_000)];
  const missing = "messages of sessions: none missing";
  const lost = "sessions stay until their end";
  deepEqual(broken({ truth, lostSessions, faults: [fault] }), []);
  deepEqual(broken({ truth, lostSessions, faults: [{ ...fault, lostAt: undefined }] }), [missing, lost]);
  const later = [entry("open", "x", 4_200), ...truth.slice(1)];
  deepEqual(broken({ truth: later, lostSessions, faults: [fault] }), [missing, lost]);
  deepEqual(broken({ truth, lostSessions: [{ session: "x", client: "a", at: 3_000 }], faults: [fault] }), [lost]);
});

test("chaos excuses a change that a node could not tell before it was killed, and accepts that everything may have changed", () => {
  const truth = [...OPENED, entry("change", "u", 5_000)];
  const watch = { client: "a", uris: ["u"], events: [] };
  const killed = { kind: "kill", nodes: ["n0"], at: 5_100, until: 5_200 };
  deepEqual(broken({ truth, watches: [watch], faults: [killed] }), []);
  deepEqual(broken({ truth, watches: [{ ...watch, events: [{ kind: "resync", uri: "", at: 6_000 }] }] }), []);
  deepEqual(broken({ truth, watches: [{ ...watch, endedAt: 6_000 }] }), []);
});

test("chaos counts kills of nodes with calls, questions and streams that moved, and measures the recovery", () => {
  const calls = [
    call({ settlements: [{ ...ERROR, at: 3_000, delivery: "sent", retrySafe: false }] }),
    call({ number: 1, beganAt: 500, settlements: [{ ...RESULT, at: 900, text: "1 s" }] }),
  ];
  const truth = [
    ...OPENED,
    entry("begin", 0, 120),
    entry("begin", 1, 510, { node: "n1" }),
    entry("end", 1, 520, { node: "n1" }),
    entry("elsewhere", "q", 600, { node: "n1" }),
    entry("hold", "x", 100),
    entry("hold", "x", 600, { node: "n1" }),
  ];
  const faults = [
    { kind: "kill", nodes: ["n0", "n2"], at: 400, until: 500 },
    { kind: "stop", nodes: ["n1"], at: 1_000, until: 1_500 },
  ];
  const { counts, recovery } = judge(history({ calls, truth, faults }));
  deepEqual(counts, { calls: 2, questions: 1, takeovers: 1, kills: 1, stops: 1, engineKills: 0 });
  equal(recovery.p99, 2_600);
});

test("chaos measures the recovery of an outage from its planned length, or from the return of all nodes", () => {
  const lost = call({ settlements: [{ ...ERROR, at: 9_000, delivery: "sent", retrySafe: false }] });
  const after = call({ number: 1, beganAt: 8_000, settlements: [{ ...RESULT, at: 8_500, text: "1 s" }] });
  const truth = [...OPENED, entry("begin", 0, 120), entry("begin", 1, 8_100), entry("end", 1, 8_200)];
  const p99 = (fault: Fields) => judge(history({ calls: [lost, after], truth, faults: [fault] })).recovery.p99;
  equal(p99({ kind: "engine", nodes: [], at: 1_000, until: 2_000 }), 8_000);
  equal(p99({ kind: "engine", nodes: [], at: 1_000, until: 5_000 }), 6_000);
  equal(p99({ kind: "engine", nodes: ["n0"], at: 1_000, until: 5_000, backAt: 4_500 }), 4_500);
});

test("chaos fails below a minimum, after a slow recovery, a hanging call or the death of a node", () => {
  const slow = call({ settlements: [{ ...ERROR, name: "TimeoutError", at: 9_000 }] });
  const { problems } = judge(
    history({
      calls: [slow],
      truth: [...OPENED, entry("begin", 0, 120)],
      faults: [{ kind: "kill", nodes: ["n0"], at: 200, until: 300 }],
      floors: { calls: 2 },
      accidents: ["a node died by itself: n1 ended with 1: why"],
    }),
  );
  deepEqual(problems, [
    "floor not reached: calls 1 of 2",
    "recovery of 99 of 100 takes Infinity ms, more than 5000",
    "1 calls time out, as if they hung",
    "a node died by itself: n1 ended with 1: why",
  ]);
});

for (const isShort of [false, true]) {
  test(`the plan of a ${isShort ? "short" : "long"} run has the minimum of faults within its limit, and follows its seed`, () => {
    const { floors, limitMs } = sizeOf(isShort);
    const plan = planFaults(floors, new Random(7));
    const count = (kind: string) => plan.filter((fault) => fault.kind === kind).length;
    const kills = plan.filter(({ kind }) => kind === "kill").reduce((sum, { count }) => sum + count, 0);
    ok(kills >= (floors.kills ?? 0) && count("stop") >= (floors.stops ?? 0));
    ok(count("engine") >= (floors.engineKills ?? 0));
    ok(lengthOf(plan) < limitMs * 0.8, `${lengthOf(plan)}`);
    deepEqual(planFaults(floors, new Random(7)), plan);
  });
}
