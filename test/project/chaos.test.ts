import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { describe, test } from "node:test";
import { loadScript } from "./load-script.js";

type Fields = Readonly<Record<string, unknown>>;

interface Judgement {
  readonly counts: Readonly<Record<string, number>>;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly recovery: readonly { readonly group: string; readonly count: number; readonly p99: number }[];
  readonly errors: { readonly nodes: readonly (readonly [string, number])[] };
  readonly rules: readonly { readonly rule: string; readonly violations: readonly string[] }[];
  readonly problems: readonly string[];
}

const { judge } = await loadScript<{ judge(history: Fields): Judgement }>("chaos/judge.mjs");
const { Wire } = await loadScript<{ Wire: new (record: object) => { end(): void; sessionOf(client: string): string } }>(
  "chaos/load/wire.mjs",
);
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

const GET = { principal: "get" };
const RAN = [entry("begin", 0, 120), entry("end", 0, 130)];
const OPENED = [entry("open", "x", 50, { session: "1" })];
const KILL = { kind: "kill", nodes: ["n0"], at: 140, until: 180 };
const OUTAGE = { kind: "engine", nodes: [], at: 10, until: 20 };
/** Request of a call, or of an answer. */
const request = (details: Fields = {}) => ({ at: 110, until: 115, node: "n0", status: 200, ...details });

/** History in which all is well. */
function history(details: Fields = {}): Fields {
  return {
    calls: [],
    sessions: new Map([["x", { client: "a", recovers: true, at: 50 }]]),
    handshakes: [],
    leaves: [],
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

const ANSWERED = { delivery: "answered", retrySafe: false };
const DIED = { ...ERROR, name: "RpcError", rpcCode: -32603, message: "The process has died", ...ANSWERED };
const LOST = { delivery: "answer_lost", retrySafe: false };
const cut = (at: number, details: Fields = {}) =>
  entry("cut", "a", at, { principal: "POST", session: "tools/call", ...details });

/** Ends of calls without a result that nothing explains. */
const UNCAUSED: readonly { name: string; end: Fields; call?: Fields; history?: Fields }[] = [
  { name: "an answer is lost without a fault", end: LOST },
  { name: "an internal error comes without a begin", end: { name: "RpcError", rpcCode: -32603, delivery: "answered" } },
  { name: "a call is refused without an outage", end: { delivery: "refused", retrySafe: true } },
  { name: "a call is refused after a cut", end: { delivery: "refused" }, history: { truth: [...OPENED, cut(150)] } },
  { name: "a call is lost after the fault", end: LOST, history: { faults: [{ ...KILL, at: -9_000, until: -8_000 }] } },
  {
    name: "a call is lost by the cut of a GET",
    end: LOST,
    history: { truth: [...OPENED, cut(150, { principal: "GET" })] },
  },
  {
    name: "a call is lost by the cut of a watch",
    end: LOST,
    history: { truth: [...OPENED, cut(150, { session: "x" })] },
  },
  { name: "a call is lost by the cut of another client", end: LOST, history: { truth: [cut(150, { subject: "b" })] } },
  { name: "a call is lost by a later cut", end: LOST, history: { truth: [...OPENED, cut(1_000)] } },
  {
    name: "a call is lost by a cut on a node that did not serve it",
    end: LOST,
    call: { attempts: [request({ node: "n1" })] },
    history: { truth: [...OPENED, cut(150)] },
  },
  {
    name: "a client that recovers does not read the stream of its call on after a cut",
    end: LOST,
    call: { recovers: true },
    history: { truth: [...OPENED, cut(150)] },
  },
  {
    name: "a call is lost by a fault of a node that did not serve it",
    end: LOST,
    call: { attempts: [request({ node: "n1" })] },
    history: { faults: [KILL] },
  },
];

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
    { truth: [...OPENED, entry("hold", "x", 1_000, GET), entry("tell", 1, 5_000)] },
  ],
  [
    "messages of sessions: none missing",
    "a session gets its first message after many seconds",
    {
      truth: [...OPENED, entry("hold", "x", 1_000, GET), entry("tell", 1, 8_000)],
      messages: [{ client: "a", session: "x", from: "n0", number: "9", at: 20_000 }],
    },
  ],
  [
    "changes reach watches",
    "a watch is not told of a change",
    {
      truth: [...OPENED, entry("change", "u", 5_000)],
      watches: [{ client: "a", uris: ["u"], events: [{ kind: "resource", uri: "u", at: 4_000 }] }],
    },
  ],
  ...["resource", "resync"].map((kind): readonly [string, string, Fields] => [
    "changes reach watches",
    `a watch is told of a change by a ${kind} after many seconds`,
    {
      truth: [...OPENED, entry("change", "u", 5_000)],
      watches: [{ client: "a", uris: ["u"], events: [{ kind, uri: "u", at: 15_100 }] }],
    },
  ]),
  ["onOpen equals the sessions of clients", "onOpen is not called", { truth: [] }],
  ["onOpen equals the sessions of clients", "onOpen is called twice", { truth: [...OPENED, ...OPENED] }],
  [
    "onOpen equals the sessions of clients",
    "a session is opened without a client",
    { truth: [...OPENED, entry("open", "y")] },
  ],
  ...[
    { name: "of another attempt", handshake: { client: "a", attempt: "2" } },
    { name: "of another client", handshake: { client: "b", attempt: "1" } },
    { name: "that was refused", handshake: { client: "a", attempt: "1", isRefused: true, at: 60, until: 70 } },
  ].map(({ name, handshake }): readonly [string, string, Fields] => [
    "onOpen equals the sessions of clients",
    `a session stays open that only a handshake ${name} could explain`,
    { truth: [...OPENED, entry("open", "y", 60, { session: "1" })], handshakes: [handshake] },
  ]),
  [
    "onOpen equals the sessions of clients",
    "a handshake opens two sessions",
    {
      truth: [...OPENED, ...["y", "z"].map((id) => entry("open", id, 60, { session: "1" }))],
      handshakes: [{ client: "a", attempt: "1" }],
    },
  ],
  ["onEnd at most once", "onEnd is called twice", { truth: [...OPENED, entry("close", "x"), entry("close", "x")] }],
  [
    "sessions stay until their end",
    "a node no longer knows a session",
    { lostSessions: [{ session: "x", client: "a", at: 1 }] },
  ],
  ...UNCAUSED.map(({ name, end, ...details }): readonly [string, string, Fields] => [
    "calls end without a result only for a cause",
    name,
    { calls: [call({ settlements: [{ ...ERROR, ...end }], ...details.call })], ...details.history },
  ]),
  ...[
    { name: "a process that nobody killed counts as dead", faults: [] },
    { name: "a process counts as dead after another one was killed", faults: [{ ...KILL, nodes: ["n1"] }] },
    { name: "a process counts as dead since the engine was away", faults: [{ ...KILL, kind: "engine", nodes: [] }] },
    { name: "a process counts as dead after a short stop", faults: [{ ...KILL, kind: "stop" }] },
  ].map(({ name, faults }): readonly [string, string, Fields] => [
    "a process has died only if it was killed or stopped",
    name,
    { calls: [call({ settlements: [DIED] })], truth: [...OPENED, entry("begin", 0, 120)], faults },
  ]),
  ...[
    { name: "an answer is lost for no reason", answers: [request()], faults: [] },
    { name: "a question is lost for no reason", answers: [], faults: [] },
    {
      name: "an answer is lost although another node was killed",
      answers: [request()],
      faults: [{ ...KILL, nodes: ["n2"] }],
    },
    {
      name: "an answer is lost long after the fault of its node",
      answers: [request({ at: 9_000, until: 9_001, node: "n1" })],
      faults: [{ ...KILL, nodes: ["n1"] }],
    },
  ].map(({ name, answers, faults }): readonly [string, string, Fields] => [
    "handlers fail only for a cause",
    name,
    {
      calls: [call({ kind: "ask", token: "t", answers, settlements: [{ ...RESULT, at: 9_500, how: "failed" }] })],
      truth: [...OPENED, entry("begin", 0, 8_990), entry("fail", 0, 9_400)],
      faults,
    },
  ]),
  [
    "no errors of defects",
    "a node reports an error of its program",
    { nodeErrors: new Map([["http: TypeError: x is not a function", 1]]) },
  ],
  [
    "no errors of defects",
    "a client reports an error of its program",
    { clientErrors: new Map([["RangeError: Invalid array length", 1]]) },
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

describe("chaos excuses", () => {
  const ends = (end: Fields, own: Fields, details: Fields) =>
    broken({ calls: [call({ settlements: [{ ...ERROR, ...end }], ...own })], ...details });

  test("a call that is lost by a fault of its node, of the engine, or of any node if its own is unknown", () => {
    const attempts = [request()];
    deepEqual(ends(LOST, { attempts }, { faults: [KILL] }), []);
    deepEqual(ends(LOST, { attempts }, { faults: [{ ...KILL, kind: "engine", nodes: [] }] }), []);
    const unnamed = [request({ node: undefined, status: 502 })];
    deepEqual(ends(LOST, { attempts: unnamed }, { faults: [{ ...KILL, nodes: ["n2"] }] }), []);
  });

  test("a call that a node could not serve right after its start", () => {
    const started = (at: number, node = "n0") => ({ truth: [...OPENED, entry("start", "", at, { node })] });
    deepEqual(ends(LOST, { attempts: [request()] }, started(-1_000)), []);
    const unexplained = ["calls end without a result only for a cause"];
    deepEqual(ends(LOST, { attempts: [request()] }, started(-2_000)), unexplained);
    deepEqual(ends(LOST, { attempts: [request()] }, started(-1_000, "n1")), unexplained);
    deepEqual(ends(LOST, { attempts: [request({ node: undefined })] }, started(-1_000, "n1")), unexplained);
  });

  test("a call whose node was not let run, if that is recorded", () => {
    const stall = entry("stall", 2_500, 180);
    deepEqual(ends(LOST, { attempts: [request()] }, { truth: [...OPENED, stall] }), []);
    const truth = [...OPENED, entry("begin", 0, 120), stall];
    deepEqual(broken({ calls: [call({ settlements: [DIED] })], truth }), []);
    const joined = [entry("stall", 1_100, 150), entry("stall", 1_000, 1_200)];
    deepEqual(broken({ calls: [call({ settlements: [DIED] })], truth: [...truth.slice(0, -1), ...joined] }), []);
    const short = [...OPENED, entry("begin", 0, 120), entry("stall", 1_100, 180)];
    deepEqual(broken({ calls: [call({ settlements: [DIED] })], truth: short }), [
      "a process has died only if it was killed or stopped",
    ]);
  });

  test("a call whose connection was cut on its node", () => {
    deepEqual(ends(LOST, { attempts: [request()] }, { truth: [...OPENED, cut(150)] }), []);
    deepEqual(ends(LOST, {}, { truth: [...OPENED, cut(150, { session: "-" })] }), []);
  });

  test("a process that counts as dead after it was killed, or stopped for about a lease", () => {
    const calls = [call({ settlements: [DIED] })];
    const truth = [...OPENED, entry("begin", 0, 120)];
    deepEqual(broken({ calls, truth, faults: [KILL] }), []);
    deepEqual(broken({ calls, truth, faults: [{ ...KILL, kind: "stop", until: 3_640 }] }), []);
  });

  test("an answer that is lost with the node that took it, by a cut, or by an outage", () => {
    const lost = (answer: Fields, details: Fields) =>
      broken({
        calls: [
          call({ kind: "ask", token: "t", answers: [answer], settlements: [{ ...RESULT, at: 4_000, how: "failed" }] }),
        ],
        truth: [...OPENED, entry("begin", 0, 120), entry("fail", 0, 3_900), ...((details.cuts ?? []) as Fields[])],
        faults: details.faults ?? [],
      });
    deepEqual(lost(request({ node: "n1" }), { faults: [{ ...KILL, nodes: ["n1"] }] }), []);
    deepEqual(lost(request({ node: undefined, status: 502 }), { faults: [{ ...KILL, nodes: ["n2"] }] }), []);
    deepEqual(lost(request({ node: "n1" }), { faults: [{ ...KILL, kind: "engine", nodes: [] }] }), []);
    deepEqual(lost(request({ node: undefined, status: 502 }), { cuts: [cut(112, { session: "-" })] }), []);
    deepEqual(lost(request({ status: 202 }), { cuts: [cut(112, { session: "-" })] }), [
      "handlers fail only for a cause",
    ]);
  });

  test("one session for each handshake of the client and its attempt whose outcome is unknown", () => {
    const truth = [...OPENED, entry("open", "y", 60, { session: "1" })];
    deepEqual(broken({ truth, handshakes: [{ client: "a", attempt: "1" }] }), []);
    deepEqual(broken({ truth, handshakes: [{ client: "a", attempt: "1", session: "y" }] }), []);
    const refused = [{ client: "a", attempt: "1", isRefused: true, at: 60, until: 70, node: "n0" }];
    deepEqual(broken({ truth: [...truth, entry("close", "y")], handshakes: refused }), []);
    const sessions = new Map([["x", { client: "a" }]]);
    deepEqual(broken({ truth, sessions, handshakes: refused, faults: [OUTAGE] }), []);
    deepEqual(broken({ truth, sessions, handshakes: refused, faults: [{ ...KILL, at: 50, nodes: ["n1"] }] }), [
      "onOpen equals the sessions of clients",
    ]);
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
  const { problems, verdicts } = judge(history({ calls, truth, faults: [OUTAGE] }));
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
  const truth = [...OPENED, entry("hold", "x", 1_000, GET), entry("tell", 1, 5_000)];
  const fault = { kind: "kill", nodes: ["n0"], at: 5_100, until: 5_200 };
  deepEqual(broken({ truth, faults: [fault] }), []);
  deepEqual(broken({ truth, faults: [{ ...fault, nodes: ["n1"] }] }), ["messages of sessions: none missing"]);
});

test("chaos excuses a message of a node that a busy machine did not let run, if that is recorded", () => {
  const truth = [...OPENED, entry("hold", "x", 1_000, { node: "n1", ...GET }), entry("tell", 1, 10_000)];
  const missing = "messages of sessions: none missing";
  deepEqual(broken({ truth }), [missing]);
  deepEqual(broken({ truth: [...truth, entry("tell", 2, 12_500)] }), [missing]);
  deepEqual(broken({ truth: [...truth, entry("stall", 1_500, 11_700)] }), []);
  deepEqual(broken({ truth: [...truth, entry("stall", 1_500, 11_700, { node: "engine" })] }), []);
  deepEqual(broken({ truth: [...truth, entry("stall", 1_500, 11_700, { node: "n2" })] }), [missing]);
});

test("chaos counts messages as lost from the first GET of a session on", () => {
  const truth = [...OPENED, entry("hold", "x", 1_000, { principal: "handshake" }), entry("tell", 1, 5_000)];
  deepEqual(broken({ truth }), []);
});

test("chaos excuses a message that comes late, but not twice, after a takeover or a fault that concerns it", () => {
  const get = (...numbers: number[]) =>
    numbers.map((number) => ({ client: "a", session: "x", from: "n0", number, at: 6_000 }));
  const once = "messages of sessions: at most once, in order";
  const told = [...OPENED, entry("hold", "x", 4_000, { node: "n1", ...GET }), entry("tell", 1, 5_000)];
  const taken = (at: number, node = "n2") => [...told, entry("hold", "x", at, { node, ...GET })];
  deepEqual(broken({ messages: get(2, 1), truth: told }), [once]);
  deepEqual(broken({ messages: get(2, 1), truth: taken(5_100) }), []);
  deepEqual(broken({ messages: get(2, 1), truth: taken(5_100, "n1") }), [once]);
  deepEqual(broken({ messages: get(2, 1), truth: taken(4_900) }), [once]);
  deepEqual(broken({ messages: get(2, 1), truth: taken(6_100) }), [once]);
  for (const [node, expected] of Object.entries({ n0: [], n1: [], n2: [once] })) {
    const fault = { kind: "stop", nodes: [node], at: 1_000, until: 5_000 };
    deepEqual(broken({ messages: get(2, 1), truth: told, faults: [fault] }), expected);
  }
  deepEqual(broken({ messages: get(1, 2, 1), truth: taken(5_100) }), [once]);
});

test("chaos excuses a session, and its messages, that were lost with the whole state, but no later session", () => {
  const fault = { kind: "engine", nodes: ["n0"], at: 4_000, lostAt: 4_100, until: 5_000 };
  const lostSessions = [{ session: "x", client: "a", at: 6_000 }];
  const truth = [...OPENED, entry("hold", "x", 1_000, GET), entry("tell", 1, 20_000)];
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
  const late = { ...watch, events: [{ kind: "resource", uri: "u", at: 18_000 }] };
  deepEqual(broken({ truth, watches: [late], faults: [{ ...killed, nodes: ["n1"], until: 9_000 }] }), []);
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
    entry("hold", "x", 90, { node: "n2", principal: "handshake" }),
    entry("hold", "x", 100, GET),
    entry("hold", "x", 600, { node: "n1", ...GET }),
    entry("resume", "x", 700, { principal: "s.1" }),
    entry("resume", "x", 800, { principal: "s.1", node: "n1" }),
    entry("stall", 1_200, 1_400, { node: "n1" }),
    entry("stall", 1_200, 9_000, { node: "n1" }),
    cut(900),
  ];
  const faults = [
    { kind: "kill", nodes: ["n0", "n2"], at: 400, until: 500 },
    { kind: "stop", nodes: ["n1"], at: 1_000, until: 1_500 },
  ];
  const { counts, recovery } = judge(history({ calls, truth, faults }));
  deepEqual(counts, {
    calls: 2,
    results: 1,
    questions: 1,
    takeovers: 1,
    resumed: 1,
    kills: 1,
    stops: 1,
    engineKills: 0,
    cuts: 1,
    stalls: 1,
    recoveries: 4,
  });
  deepEqual(
    recovery.map(({ count, p99 }) => [count, p99]),
    [
      [1, 2_600],
      [1, 500],
      [1, 2_000],
      [1, Number.POSITIVE_INFINITY],
    ],
  );
});

test("chaos measures the recovery of an outage from its planned length, or from the return of all nodes", () => {
  const lost = call({ settlements: [{ ...ERROR, at: 9_000, delivery: "sent", retrySafe: false }] });
  const after = call({ number: 1, beganAt: 8_000, settlements: [{ ...RESULT, at: 8_500, text: "1 s" }] });
  const truth = [...OPENED, entry("begin", 0, 120), entry("begin", 1, 8_100), entry("end", 1, 8_200)];
  const p99 = (fault: Fields) => judge(history({ calls: [lost, after], truth, faults: [fault] })).recovery[0]?.p99;
  equal(p99({ kind: "engine", nodes: [], at: 1_000, until: 2_000 }), 8_000);
  equal(p99({ kind: "engine", nodes: [], at: 1_000, until: 5_000 }), 6_000);
  equal(p99({ kind: "engine", nodes: ["n0"], at: 1_000, until: 5_000, backAt: 4_500 }), 4_500);
});

test("chaos measures the recovery of calls that wait for the end of a fault, and of all clients", () => {
  const end = (at: number) => ({ settlements: [{ ...RESULT, at }] });
  const calls = [
    call({ number: 0, client: "a", beganAt: 1_500, ...end(8_000) }),
    call({ number: 1, client: "b", beganAt: 1_600, ...end(1_700) }),
    call({ number: 2, client: "c", beganAt: 100, ...end(200) }),
    call({ number: 3, client: "c", beganAt: 7_000, ...end(7_500) }),
  ];
  const faults = [{ kind: "stop", nodes: ["n2"], at: 1_000, until: 4_000 }];
  const { recovery, problems } = judge(history({ calls, faults }));
  deepEqual(
    recovery.map(({ group, count, p99 }) => [group, count, p99]),
    [
      ["calls that ran there", 0, 0],
      ["their clients", 0, 0],
      ["other calls that waited", 1, 6_500],
      ["other clients", 3, 6_500],
    ],
  );
  equal(problems.filter((problem) => problem.startsWith("recovery")).length, 2);
});

test("chaos measures the recovery of a client from its next call or handshake, without the times of other faults", () => {
  const fault = { kind: "stop", nodes: ["n2"], at: 1_000, until: 4_000 };
  const next = call({ beganAt: 9_000, settlements: [{ ...RESULT, at: 9_500 }] });
  const p99 = (details: Fields) => judge(history({ calls: [next], faults: [fault], ...details })).recovery[3]?.p99;
  equal(p99({}), 500);
  equal(p99({ handshakes: [{ client: "a", at: 6_000 }] }), 3_500);
  equal(p99({ handshakes: [{ client: "b", at: 6_000 }] }), 500);
  const open = call({ number: 1, beganAt: 900, settlements: [{ ...ERROR, at: 1_100 }] });
  equal(p99({ calls: [open, next] }), 8_500);
  const another = { kind: "kill", nodes: ["n1"], at: 5_000, until: 7_000 };
  equal(p99({ calls: [open, next], faults: [fault, another] }), 6_500);
  const leave = { client: "a", at: 2_000, until: 5_000 };
  equal(p99({ calls: [open, next], leaves: [leave] }), 5_500);
  equal(p99({ calls: [open, next], leaves: [{ ...leave, client: "b" }] }), 8_500);
  equal(p99({ calls: [open, next], leaves: [{ ...leave, until: undefined }] }), 8_500);
});

test("chaos takes the limit of a handler whose question got no answer for no part of the recovery", () => {
  const asked = call({ kind: "ask", beganAt: 1_500, settlements: [{ ...RESULT, how: "failed", at: 8_000 }] });
  const faults = [{ kind: "engine", nodes: [], at: 1_000, until: 4_000 }];
  equal(judge(history({ calls: [asked], faults })).recovery[2]?.p99, 2_500);
});

test("chaos reports errors of nodes by kind", () => {
  const text = (id: string) => `event log: stream "get" of log "session:${id}" has a newer writer`;
  const nodeErrors = new Map([
    [text("1ad382a9-6641-4d9d-a954-654f141f47d9"), 2],
    [text("c3f5046d-47ca-43a1-beb9-b9e5a403431d"), 1],
  ]);
  deepEqual(judge(history({ nodeErrors })).errors.nodes, [[text("…"), 3]]);
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
    "recovery of 99 of 100 (calls that ran there) takes 8800 ms, more than 5000",
    "recovery of 99 of 100 (their clients) takes Infinity ms, more than 5000",
    "1 calls time out, as if they hung",
    "a node died by itself: n1 ended with 1: why",
  ]);
});

test("chaos observes which node a call, an answer and a handshake reached, and which had no response", () => {
  const record = { calls: [{ token: "t", attempts: [], answers: [] }], handshakes: [] };
  const wire = new Wire(record);
  const publish = (name: string, message: object) => channel(`undici:request:${name}`).publish(message);
  const send = (message: object) => {
    const sent = { method: "POST", body: Buffer.from(JSON.stringify(message)) };
    publish("create", { request: sent });
    return sent;
  };
  const reply = (sent: object, statusCode: number, ...headers: string[]) =>
    publish("headers", { request: sent, response: { statusCode, headers: headers.map((text) => Buffer.from(text)) } });
  const called = { method: "tools/call", params: { arguments: { call: 0 } } };
  reply(send(called), 503, "X-Chaos-Node", "n1", "Retry-After", "1");
  publish("error", { request: send(called), error: new Error("cut") });
  reply(send({ id: "q", result: { content: { value: "t" } } }), 202, "x-chaos-node", "n2");
  const greeted = { method: "initialize", params: { clientInfo: { name: "a", version: "3" } } };
  reply(send(greeted), 200, "mcp-session-id", "x");
  send(greeted);
  send({ method: "tools/list" });
  equal(wire.sessionOf("a"), "x");
  wire.end();
  const shown = (list: readonly Fields[], ...names: string[]) => list.map((item) => names.map((name) => item[name]));
  const [call] = record.calls;
  deepEqual(shown(call?.attempts ?? [], "node", "status", "isRefused", "problem"), [
    ["n1", 503, true, undefined],
    [undefined, undefined, undefined, "cut"],
  ]);
  deepEqual(shown(call?.answers ?? [], "node", "status"), [["n2", 202]]);
  deepEqual(shown(record.handshakes, "client", "attempt", "session"), [
    ["a", "3", "x"],
    ["a", "3", undefined],
  ]);
});

test("chaos fails if it observes no request", () => {
  throws(() => new Wire({ calls: [], handshakes: [] }).end(), /no request of a client was observed/);
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
