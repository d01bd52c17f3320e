/** Time after a fault or the start of a node, and after an outage of the engine, in which calls may still fail because of it. */
const AFTER_MS = 1_500;
const REJOIN_MS = 3_000;

/** Faults of the engine: an outage, a time without room, and the loss of its last writes. They concern all nodes. */
const OF_ENGINE = new Set(["engine", "full", "rollback"]);

export const isOfEngine = ({ kind }) => OF_ENGINE.has(kind);

/** Returns the faults and the recorded stalls of a run, each with its nodes and its times. */
export function troublesOf({ faults, truth }) {
  return [...faults.map((fault) => ({ ...fault, until: fault.until ?? Number.POSITIVE_INFINITY })), ...stallsOf(truth)];
}

/** Time between two stalls of a process from which on they are two. */
const JOINED_MS = 300;

/** Returns the times in which a busy machine did not let a process run. A stall of the engine concerns all nodes. */
export function stallsOf(truth) {
  const last = new Map();
  const stalls = [];
  for (const { kind, node, subject, at: until } of truth) {
    if (kind !== "stall") continue;
    const at = until - Number(subject);
    const before = last.get(node);
    if (before !== undefined && at - before.until < JOINED_MS) {
      before.until = until;
      continue;
    }
    const concerned = node === "engine" ? { kind: "engine", nodes: [] } : { kind: "stall", nodes: [node] };
    const stall = { ...concerned, at, until };
    last.set(node, stall);
    stalls.push(stall);
  }
  return stalls;
}

/** Returns the starts of nodes. The first requests of a node load the rest of its program. */
export function startsOf(truth) {
  return truth
    .filter(({ kind }) => kind === "start")
    .map(({ node, at }) => ({ kind: "start", nodes: [node], at, until: at }));
}

/** True if a trouble concerns one of the nodes. `nodes` is undefined if any node may be concerned. */
export function concerns(trouble, nodes) {
  if (isOfEngine(trouble)) return true;
  if (nodes === undefined) return trouble.kind !== "start" && trouble.nodes.some((node) => node !== "clients");
  return trouble.nodes.some((node) => nodes.has(node));
}

/** True if a trouble, or the time in which its consequences end, is within a time. */
export function overlaps(trouble, from, to) {
  return trouble.at <= to && trouble.until + (isOfEngine(trouble) ? REJOIN_MS : AFTER_MS) >= from;
}
