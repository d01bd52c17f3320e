import { troublesOf } from "./troubles.mjs";

/** Time around the end of a session in which a fault may keep its node from removing what it has. */
const AROUND_MS = 6_000;

/** Records by the begin of their keys. What belongs to a session names it next. */
const RECORDS = {
  session: /^session:([^:]+)$/,
  watch: /^watch:([^:]+):/,
  question: /^question:/,
  node: /^nodes\//,
  round: /^round\//,
  outcome: /^outcome\//,
  "lease of a node": /^lease\/((nodes|states)\/|sweeper$)/,
  lease: /^lease\//,
  job: /^job\//,
  task: /^task:([^:]+)$/,
};
/** Kinds that stay for a time of their own when all calls, sessions and tasks have ended, and nobody removes before. */
const LASTING = new Set(["lease of a node", "round", "outcome", "dropped log", "bucket"]);
const OF_SESSION = new Set(["session", "watch", "log", "streams", "entries", "open stream"]);
const ENDED = "ended sessions";

/** Returns what is left with its kind, its session if it belongs to one, and the key of its record if it is an index entry. */
export function classify(left) {
  return left.map(({ kind, name, of, leftMs }) => {
    if (kind === "index entry") return { kind, name: `${of} in ${name}`, record: of, index: name, leftMs };
    if (kind !== "record") return { kind, name, session: sessionOf(kind, name), leftMs };
    const [type, pattern] = Object.entries(RECORDS).find(([, pattern]) => pattern.test(name)) ?? ["record"];
    return {
      kind: type,
      name,
      isRecord: true,
      session: OF_SESSION.has(type) ? pattern.exec(name)[1] : undefined,
      leftMs,
    };
  });
}

/** The log of a session has its name. */
const sessionOf = (kind, name) => (OF_SESSION.has(kind) ? name.replace(/^session:/, "") : undefined);

/** Returns the numbers of what is left by kind, with the longest life. */
export function countLeft(left) {
  const kinds = new Map();
  for (const { kind, leftMs = 0 } of classify(left)) {
    const known = kinds.get(kind) ?? { kind, count: 0, longestMs: 0 };
    kinds.set(kind, { kind, count: known.count + 1, longestMs: Math.max(known.longestMs, leftMs) });
  }
  return [...kinds.values()].sort((one, other) => other.count - one.count);
}

/**
 * When all sessions have ended, nothing is left in the engine but kinds that last for a time of their own, sessions that
 * nobody could end, and ended ones whose rest a fault kept their node from removing. Each of these has a life. A node that
 * lives has a record and a lease. An index entry has a record that may be left.
 */
export function* nothingLeft(view) {
  if (view.left === undefined) return;
  const items = classify(view.left);
  const mayStay = sessionsThatStay(view, items);
  const leases = new Set(items.filter(({ kind }) => kind === "lease of a node").map(({ name }) => name));
  const isAllowed = ({ kind, name, session, leftMs }) =>
    LASTING.has(kind) ||
    (kind === "question" && isBroughtBack(view, leftMs)) ||
    (kind === "node" && leases.has(`lease/${name}`)) ||
    (session !== undefined && mayStay(session));
  const allowed = new Set(items.filter((item) => item.isRecord && isAllowed(item)).map(({ name }) => name));
  for (const item of items) {
    const { kind, name, leftMs, isRecord } = item;
    if (kind === "index entry") {
      if (!allowed.has(item.record)) yield `an index entry is left: ${name}`;
    } else if (!isAllowed(item)) yield `a ${kind} is left: ${name}`;
    else if (leftMs === undefined && isRecord && kind !== "node") yield `a ${kind} is left for ever: ${name}`;
  }
}

/** Longest life of a question. */
const QUESTION_MS = 86_400_000;

/** True if a question was in a copy of the engine, so that the loss of later writes has lost its end. */
function isBroughtBack({ faults, leftAt }, leftMs) {
  const askedAt = leftAt - (QUESTION_MS - leftMs);
  return faults.some(({ copiedAt }) => copiedAt !== undefined && askedAt <= copiedAt);
}

/** Returns a function that tells whether what a session has may be left. */
function sessionsThatStay(view, items) {
  const { truth, ends = [], faults } = view;
  const closes = new Map(truth.filter(({ kind }) => kind === "close").map(({ subject, at }) => [subject, at]));
  const acknowledged = ends.filter(({ status }) => status >= 200 && status < 300);
  for (const { session, at } of acknowledged) if (!closes.has(session)) closes.set(session, at);
  const troubles = troublesOf(view);
  const beingRemoved = new Set(items.filter(({ index }) => index === ENDED).map(({ record }) => record));
  return (session) => {
    const at = closes.get(session);
    if (at === undefined) return true;
    const isBack = faults.some(
      ({ lostFrom, until = at }) => lostFrom !== undefined && lostFrom <= at && at <= until + AROUND_MS,
    );
    const isTroubled = troubles.some((trouble) => trouble.at - AROUND_MS <= at && at <= trouble.until + AROUND_MS);
    return isBack || (beingRemoved.has(`session:${session}`) && isTroubled);
  };
}
