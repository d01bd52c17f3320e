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
  readonly doubts: readonly string[];
  readonly outcome: string;
}

const { judge } = await loadScript<{ judge(history: Fields): Judgement }>("chaos/judge.mjs");
const { Wire } = await loadScript<{ Wire: new (record: object) => { end(): void; sessionOf(client: string): string } }>(
  "chaos/load/wire.mjs",
);
const { EventReader } = await loadScript<{
  EventReader: new (onEvent: (id: string, digest: string) => void) => { read(chunk: string | Uint8Array): void };
}>("chaos/node/events.mjs");
const { planFaults, lengthOf } = await loadScript<{
  planFaults(floors: Fields, random: object): readonly { readonly kind: string; readonly count: number }[];
  lengthOf(plan: readonly object[]): number;
}>("chaos/schedule.mjs");
const { sizeOf } = await loadScript<{
  sizeOf(
    isShort: boolean,
    engine?: Fields,
  ): { readonly floors: Readonly<Record<string, number>>; readonly limitMs: number };
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
    begunAt: 0,
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

const CANCELLED = { at: 200, how: "cancelled" };
const FULL = { kind: "full", nodes: [], at: 50, until: 300 };
/** Ends of calls that a full engine does not explain. */
const REFUSALS: readonly { name: string; end: Fields; history?: Fields }[] = [
  { name: "the outcome of a call is unknown while the engine is full", end: LOST },
  {
    name: "a call is refused by a full engine, and not safe to repeat",
    end: { delivery: "refused", retrySafe: false },
  },
  { name: "a call hangs while the engine is full", end: { name: "TimeoutError", at: 9_000 } },
  { name: "a call of the official SDK ends with another status than 503", end: { name: "McpError", status: 500 } },
  {
    name: "the outcome of a call is unknown after the kill of a node that did not serve it",
    end: LOST,
    history: { faults: [FULL, { ...KILL, nodes: ["n1"] }] },
  },
];

const ENDED = { truth: [...OPENED, entry("close", "x", 20_000)] };
const SESSION = { kind: "record", name: "session:x", leftMs: 300_000 };
const IN_ENDED = { kind: "index entry", name: "ended sessions", of: "session:x" };
/** Contents of an engine of which a part should not be there. */
const LEFT: readonly ({ name: string; left: readonly Fields[] } & Fields)[] = [
  { name: "the record of a session that has ended is left", left: [SESSION], ...ENDED },
  { name: "the log of a session that has ended is left", left: [{ kind: "log", name: "session:x" }], ...ENDED },
  { name: "an open stream is left", left: [{ kind: "open stream", name: "session:x" }], ...ENDED },
  {
    name: "a session is left that a node was not kept from removing",
    left: [SESSION, IN_ENDED],
    ...ENDED,
    faults: [KILL],
  },
  {
    name: "a session is left although its end was acknowledged",
    left: [SESSION],
    ends: [{ session: "x", status: 204, at: 20_000 }],
  },
  { name: "a session is left for ever", left: [{ kind: "record", name: "session:x" }] },
  { name: "a question is left", left: [{ kind: "record", name: "question:n0:1", leftMs: 9 }] },
  { name: "a lease is left", left: [{ kind: "record", name: "lease/l", leftMs: 9 }] },
  { name: "a node that has died is left", left: [{ kind: "record", name: "nodes/n0" }] },
  { name: "a job is left", left: [{ kind: "record", name: "job/j" }] },
  {
    name: "an index entry is left without its record",
    left: [{ kind: "index entry", name: "sessions", of: "session:x" }],
  },
  { name: "a record of an unknown kind is left", left: [{ kind: "record", name: "new:1", leftMs: 9 }] },
  { name: "a key of an unknown kind is left", left: [{ kind: "key", name: "chaos:{chaos}:new", leftMs: 9 }] },
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
  ...REFUSALS.map(({ name, end, history: details = {} }): readonly [string, string, Fields] => [
    "a full engine refuses for sure",
    name,
    { calls: [call({ attempts: [request()], settlements: [{ ...ERROR, ...end }] })], faults: [FULL], ...details },
  ]),
  ...[
    { name: "a handler of a cancelled call runs on", truth: [entry("begin", 0, 120)] },
    { name: "a handler of a cancelled call ends late", truth: [entry("begin", 0, 120), entry("fail", 0, 3_300)] },
    {
      name: "a handler of a cancelled call runs on after the cut of another client",
      truth: [entry("begin", 0, 120), cut(150, { subject: "b" })],
    },
  ].map(({ name, truth }): readonly [string, string, Fields] => [
    "cancelled calls end in their handlers",
    name,
    { calls: [call({ settlements: [CANCELLED] })], truth: [...OPENED, ...truth] },
  ]),
  [
    "messages of sessions: none missing",
    "a client that has cancelled a call no longer hears messages",
    {
      calls: [call({ settlements: [CANCELLED] })],
      truth: [...OPENED, entry("hold", "x", 100, GET), entry("begin", 0), entry("fail", 0), entry("tell", 1, 10_000)],
    },
  ],
  [
    "messages of sessions: at most once, in order",
    "a client that has cancelled a call hears a message twice",
    {
      calls: [call({ settlements: [CANCELLED] })],
      truth: [...OPENED, entry("begin", 0), entry("fail", 0)],
      messages: [1, 1].map((number) => ({ client: "a", session: "x", from: "n0", number, at: 5_000 })),
    },
  ],
  ...[
    { name: "without a fault", faults: [] },
    { name: "long after a fault", faults: [{ ...KILL, until: 3_000 }] },
  ].map(({ name, faults }): readonly [string, string, Fields] => [
    "official clients stop to listen only for a cause",
    `a client of the official SDK gives up ${name}`,
    { deaf: [{ client: "a", session: "x", at: 9_000 }], faults },
  ]),
  [
    "no event id is given twice",
    "an id names two messages",
    {
      truth: [...OPENED, ...["one", "other"].map((session) => entry("event", "x", 60, { principal: "g1", session }))],
      faults: [{ ...OUTAGE, kind: "rollback" }],
    },
  ],
  [
    "sessions stay until their end",
    "a session is unknown that the engine has not lost",
    {
      lostSessions: [{ session: "x", client: "a", at: 6_000 }],
      faults: [{ kind: "rollback", nodes: [], at: 4_000, until: 5_000, lostFrom: 60, lostAt: 5_000 }],
    },
  ],
  [
    "calls run once",
    "a call of 2026-07-28 runs twice, and the engine has lost nothing of it",
    {
      calls: [call({ era: "modern" })],
      truth: [...OPENED, ...RAN, entry("begin", 0, 140, { node: "n1" })],
      faults: [{ kind: "rollback", nodes: [], at: 4_000, until: 5_000, lostFrom: 3_000 }],
    },
  ],
  ...LEFT.map(({ name, left, ...details }): readonly [string, string, Fields] => [
    "nothing is left in the engine",
    name,
    { left, ...details },
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

  test("a call that a full engine refuses, and one that another fault has broken meanwhile", () => {
    const faults = [FULL];
    deepEqual(ends({ delivery: "refused", retrySafe: true }, { attempts: [request()] }, { faults }), []);
    deepEqual(ends({ name: "Error", status: 503 }, { attempts: [request()], isOfficial: true }, { faults }), []);
    const gone = [request({ node: undefined, status: 504 })];
    deepEqual(ends({ ...LOST, status: 504 }, { attempts: gone }, { faults }), []);
    const ran = { faults, truth: [...OPENED, entry("begin", 0, 120)] };
    deepEqual(ends({ ...LOST, status: 504 }, { attempts: gone }, ran), ["a full engine refuses for sure"]);
    deepEqual(ends(LOST, { attempts: [request()] }, { faults: [FULL, KILL] }), []);
    deepEqual(ends(LOST, { attempts: [request()] }, { faults, truth: [...OPENED, cut(150)] }), []);
  });

  test("a cancelled call that ends in time, has not begun, or whose cancellation a fault or a cut has lost", () => {
    const cancelled = (truth: readonly Fields[], details: Fields = {}) =>
      broken({ calls: [call({ settlements: [CANCELLED] })], truth: [...OPENED, ...truth], ...details });
    deepEqual(cancelled([entry("begin", 0, 120), entry("fail", 0, 3_100)]), []);
    deepEqual(cancelled([]), []);
    deepEqual(cancelled([entry("begin", 0, 120)], { faults: [{ ...KILL, nodes: ["n1"] }] }), []);
    deepEqual(cancelled([entry("begin", 0, 120), cut(150, { session: "-" })]), []);
    deepEqual(cancelled([entry("begin", 0, 120)], { endedAt: 3_000 }), []);
  });

  test("a client of the official SDK that gives up soon after a fault", () => {
    const deaf = [{ client: "a", session: "x", at: 9_000 }];
    deepEqual(broken({ deaf, faults: [{ ...KILL, until: 5_000 }] }), []);
  });

  test("what an engine has lost: later sessions and answers to rounds of 2026-07-28", () => {
    const rollback = { kind: "rollback", nodes: [], at: 4_000, until: 5_000, lostFrom: 20, lostAt: 5_000 };
    deepEqual(broken({ lostSessions: [{ session: "x", client: "a", at: 6_000 }], faults: [rollback] }), []);
    const calls = [call({ era: "modern" })];
    const truth = [...OPENED, ...RAN, entry("begin", 0, 4_200, { node: "n1" })];
    deepEqual(broken({ calls, truth, faults: [rollback] }), []);
    deepEqual(broken({ calls: [call()], truth, faults: [rollback] }), ["calls run once"]);
  });

  test("messages that come once more after the engine has lost the position of the client", () => {
    const rollback = { kind: "rollback", nodes: [], at: 4_000, until: 5_000, lostFrom: 3_000, lostAt: 5_000 };
    const truth = [...OPENED, entry("tell", 1, 2_000), entry("tell", 2, 2_500), entry("tell", 3, 4_500)];
    const gets = (...seen: readonly (readonly [number, number])[]) => ({
      messages: seen.map(([number, at]) => ({ client: "a", session: "x", from: "n0", number, at })),
      truth,
      faults: [rollback],
    });
    const once = ["messages of sessions: at most once, in order"];
    deepEqual(broken(gets([1, 2_100], [2, 2_600], [1, 5_100], [2, 5_100])), []);
    deepEqual(broken(gets([1, 2_100], [1, 5_100], [1, 5_200])), once);
    deepEqual(broken(gets([1, 2_100], [1, 3_900])), once);
    deepEqual(broken(gets([3, 4_600], [3, 5_200])), once);
  });

  test("a change of what the engine has forgotten to watch", () => {
    const watch = { client: "a", uris: ["u"], events: [], openedAt: 3_500 };
    const truth = [...OPENED, entry("change", "u", 30_000)];
    const rollback = { kind: "rollback", nodes: [], at: 4_000, until: 5_000, lostFrom: 3_000, lostAt: 5_000 };
    deepEqual(broken({ truth, watches: [watch], faults: [rollback] }), []);
    for (const openedAt of [2_900, 5_100])
      deepEqual(broken({ truth, watches: [{ ...watch, openedAt }], faults: [rollback] }), ["changes reach watches"]);
  });

  test("what is left for a time of its own, of sessions that nobody ended, and of one that a rollback brought back", () => {
    const lasting = ["nodes/n0", "lease/nodes/n0", "round/r", "outcome/r"].map((name) => ({
      kind: "record",
      name,
      leftMs: 9,
    }));
    const dropped = { kind: "dropped log", name: "session:x", leftMs: 9 };
    deepEqual(broken({ left: [...lasting, dropped, { kind: "bucket", name: "b", leftMs: 9 }], ...ENDED }), []);
    const entries = [SESSION, { kind: "index entry", name: "sessions", of: "session:x" }];
    deepEqual(broken({ left: [...entries, { kind: "log", name: "session:x" }] }), []);
    const back = { kind: "rollback", nodes: [], at: 21_000, until: 22_000, lostFrom: 19_000, lostAt: 22_000 };
    deepEqual(broken({ left: entries, ...ENDED, faults: [back] }), []);
    const during = { ...back, at: 10_000, until: 14_000, lostFrom: 9_000 };
    const left = [{ kind: "log", name: "session:x" }];
    deepEqual(broken({ left, ...ENDED, faults: [during] }), []);
    deepEqual(broken({ left, ...ENDED, faults: [{ ...during, until: 13_999 }] }), ["nothing is left in the engine"]);
    const question = { kind: "record", name: "question:n0:1", leftMs: 86_390_000 };
    const copied = { faults: [{ ...back, copiedAt: 20_000 }], left: [question] };
    deepEqual(broken({ ...copied, leftAt: 30_000 }), []);
    deepEqual(broken({ ...copied, leftAt: 30_001 }), ["nothing is left in the engine"]);
    const killed = { ...KILL, at: 19_000, until: 19_500 };
    deepEqual(broken({ left: [SESSION, IN_ENDED], ...ENDED, faults: [killed] }), []);
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
    cancelled: 0,
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
  const stall = entry("stall", 4_000, 10_000, { node: "n1" });
  const ended = (endedAt: number, ...stalls: readonly Fields[]) =>
    broken({ truth: [...truth, ...stalls], watches: [{ ...watch, endedAt }] });
  deepEqual(ended(18_000, stall), []);
  deepEqual(ended(18_000), ["changes reach watches"]);
  deepEqual(ended(20_000, stall), ["changes reach watches"]);
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
    official: 0,
    cancelled: 0,
    questions: 1,
    takeovers: 1,
    resumed: 1,
    kills: 1,
    stops: 1,
    engineKills: 0,
    fulls: 0,
    rollbacks: 0,
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

test("chaos does not know whether a call hung while the machine was stalled", () => {
  const slow = call({ settlements: [{ ...ERROR, name: "TimeoutError", at: 20_100 }] });
  const outcome = (ms: number) => {
    const truth = [...OPENED, entry("begin", 0, 120), entry("stall", ms, 15_000, { node: "n1" })];
    const { problems, doubts } = judge(history({ calls: [slow], truth }));
    return [problems.some((text) => /hung/.test(text)), doubts.some((text) => /stalled/.test(text))];
  };
  deepEqual(outcome(10_000), [false, true]);
  deepEqual(outcome(9_999), [true, false]);
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

test("chaos knows nothing of a recovery that the end of the load cuts off, and sees a client that never recovers", () => {
  const lost = call({ beganAt: 900, settlements: [{ ...ERROR, at: 2_000 }] });
  const faults = [{ kind: "stop", nodes: ["n2"], at: 1_000, until: 1_500 }];
  const others = (details: Fields) =>
    judge(history({ calls: [lost], faults, ...details })).recovery.find(({ group }) => group === "other clients");
  equal(others({})?.p99, Number.POSITIVE_INFINITY);
  equal(others({ loadEndedAt: 6_000 })?.p99, Number.POSITIVE_INFINITY);
  equal(others({ loadEndedAt: 5_999 })?.count, 0);
  const connecting = { calls: [call({ beganAt: 100 })], loadEndedAt: 20_000 };
  equal(others({ ...connecting, handshakes: [{ client: "a", at: 900 }] })?.p99, Number.POSITIVE_INFINITY);
  equal(others({ ...connecting, handshakes: [{ client: "a", at: 900, until: 950 }] })?.count, 0);
});

test("chaos judges a recovery without the stalls of the machine, but with the stops of nodes", () => {
  const lost = call({ settlements: [{ ...ERROR, at: 6_500, delivery: "sent", retrySafe: false }] });
  const after = call({ number: 1, beganAt: 6_600, settlements: [{ ...RESULT, at: 6_700, text: "1 s" }] });
  const truth = [...OPENED, entry("begin", 0, 120), entry("begin", 1, 6_610), entry("end", 1, 6_620)];
  const recoveries = (...stalls: readonly Fields[]) =>
    judge(history({ calls: [lost, after], truth: [...truth, ...stalls], faults: [{ ...KILL, at: 200, until: 300 }] }))
      .recovery.slice(0, 2)
      .map(({ p99 }) => p99);
  deepEqual(recoveries(), [6_300, 6_500]);
  deepEqual(recoveries(entry("stall", 2_000, 3_000, { node: "n1" })), [4_300, 4_500]);
  deepEqual(recoveries(entry("stall", 2_000, 3_000), entry("stall", 1_500, 3_500, { node: "n1" })), [3_800, 4_000]);
  const stopped = { kind: "stop", nodes: ["n0"], at: 200, until: 4_000 };
  const stall = entry("stall", 3_800, 4_000);
  const { recovery } = judge(history({ calls: [lost, after], truth: [...truth, stall], faults: [stopped] }));
  equal(recovery[0]?.p99, 6_300);
});

test("chaos calls a slow recovery inconclusive only if the machine gave too little time for it", () => {
  const calls = (at: number) => [
    call({ settlements: [{ ...ERROR, at, delivery: "sent", retrySafe: false }] }),
    call({ number: 1, beganAt: at, settlements: [{ ...RESULT, at, text: "1 s" }] }),
  ];
  const ran = (ranMs: number, waitedMs: number) => entry("ran", ranMs, 500, { principal: `${waitedMs}` });
  const outcome = (at: number, ...machine: readonly Fields[]) => {
    const truth = [...OPENED, entry("begin", 0, 120), entry("begin", 1, at), entry("end", 1, at), ...machine];
    return judge(history({ calls: calls(at), truth, faults: [{ ...KILL, at: 200, until: 300 }] })).outcome;
  };
  equal(outcome(5_200), "passed");
  equal(outcome(7_000), "failed");
  equal(outcome(7_000, ran(100, 100)), "inconclusive");
  equal(outcome(7_300, ran(100, 100)), "failed");
  equal(outcome(7_000, ran(100, 10)), "failed");
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
    const { floors, limitMs } = sizeOf(isShort, { fill: () => {}, rollBack: () => {} });
    const plan = planFaults(floors, new Random(7));
    const count = (kind: string) => plan.filter((fault) => fault.kind === kind).length;
    const kills = plan.filter(({ kind }) => kind === "kill").reduce((sum, { count }) => sum + count, 0);
    ok(kills >= (floors.kills ?? 0) && count("stop") >= (floors.stops ?? 0));
    ok(count("engine") >= (floors.engineKills ?? 0));
    ok(count("full") === floors.fulls && count("rollback") === floors.rollbacks);
    ok(lengthOf(plan) < limitMs * 0.8, `${lengthOf(plan)}`);
    deepEqual(planFaults(floors, new Random(7)), plan);
  });
}

test("chaos reads the ids of events with their messages from what a node writes, in any parts", () => {
  const seen: string[] = [];
  const reader = new EventReader((id, digest) => seen.push(`${id} ${digest}`));
  const parts = [
    "id: 1\ndata:\n\n: comment\n\nid: 2\nda",
    'ta: {"a":1}\n\nid: 3\ndata: {"b":1}\n',
    '\ndata: {"c":1}\n\n',
  ];
  for (const [at, part] of parts.entries()) reader.read(at % 2 === 0 ? part : new TextEncoder().encode(part));
  reader.read('id: 2\ndata: {"a":1}\n\nid: 3\ndata: {"c":1}\n\n');
  deepEqual(
    seen.map((text) => text.split(" ")[0]),
    ["2", "3", "2", "3"],
  );
  deepEqual([seen[0] === seen[2], seen[1] === seen[3]], [true, false]);
});

test("a plan fills and rolls back only an engine that can be", () => {
  const plan = (engine: Fields) => {
    const { floors } = sizeOf(true, engine);
    const kinds = planFaults(floors, new Random(7)).map(({ kind }) => kind);
    return [floors.fulls, floors.rollbacks, kinds.includes("full"), kinds.includes("rollback")];
  };
  deepEqual(plan({}), [undefined, undefined, false, false]);
  deepEqual(plan({ fill: () => {}, rollBack: () => {} }), [1, 1, true, true]);
});
