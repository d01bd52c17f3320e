import { lossesOf } from "./sessions.mjs";

/** Time in which a message reaches the other nodes. */
const SPREAD_MS = 3_000;
/** Time until a node serves a new stream for messages of all nodes (`sessionCacheMs`), with some more. */
const WARM_MS = 1_500;
/** Time after an outage of the engine in which nodes connect again. */
const REJOIN_MS = 3_000;
/** Time in which a new node joins the others. */
const JOIN_MS = 4_000;
/** Time between two messages of a node from which on the machine has not let it run. It sends two in a second. */
const STALL_MS = 1_500;
/** Time after a fault in which messages that waited for its end arrive. */
const LATE_MS = 6_000;

/**
 * A numbered message reaches a session at most once, and those of one sender in order. A message that a node could not
 * store before it lost the stream is passed on, and may come after later ones: only a takeover or a fault explains that.
 */
export function* messagesOnce({ truth, messages, faults }) {
  const streams = new Map();
  const holds = truth.filter(({ kind }) => kind === "hold");
  const mayBeLate = (session, at) =>
    faults.some((fault) => fault.at <= at && at <= fault.until + LATE_MS) ||
    holds.some((hold) => hold.subject === session && hold.at <= at && at <= hold.at + LATE_MS);
  for (const { session, client, from, number, at } of messages) {
    const key = `${session} ${from}`;
    const stream = streams.get(key) ?? { seen: new Set(), last: 0 };
    streams.set(key, stream);
    if (stream.seen.has(number)) yield `${client} gets message ${number} of ${from} twice`;
    else if (number < stream.last && !mayBeLate(session, at))
      yield `${client} gets message ${number} of ${from} after ${stream.last}`;
    stream.seen.add(number);
    stream.last = Math.max(stream.last, number);
  }
}

/**
 * A numbered message reaches each session with a stream, also if the stream is taken over, unless a fault concerns the
 * sender, a holder of the stream, or the engine. A client that has no position of the stream loses messages between two
 * connections: one without recovery, and one that has not received a message yet.
 */
export function* messagesArrive({ truth, messages, sessions, faults, endedAt }) {
  const lossOf = lossesOf(truth, faults);
  const troubles = [...faults, ...stallsOf(truth)];
  const beginnings = new Map();
  for (const { session, at } of messages) if (!beginnings.has(session)) beginnings.set(session, at);
  const got = new Set(messages.map(({ session, from, number }) => `${session} ${from} ${number}`));
  const starts = new Map(truth.filter(({ kind }) => kind === "start").map(({ node, at }) => [node, at]));
  const sent = truth.filter(({ kind, node, at }) => kind === "tell" && at >= (starts.get(node) ?? 0) + JOIN_MS);
  for (const { session, client, spans } of streamsOf(truth, sessions)) {
    for (const { node: from, subject: number, at } of sent) {
      const first = Math.max(spans[0].at + WARM_MS, beginnings.get(session) ?? 0);
      const last = Math.min(sessions.get(session).closedAt ?? endedAt, lossOf(session)) - 2 * WARM_MS;
      if (at < first || at > last || got.has(`${session} ${from} ${number}`)) continue;
      const holders = spans.filter((span) => span.at <= at + 2 * WARM_MS && (span.until ?? Infinity) >= at - WARM_MS);
      const nodes = new Set([from, ...holders.map(({ node }) => node)]);
      if (!isTroubled(troubles, nodes, at)) yield `${client} does not get message ${number} of ${from}`;
    }
  }
}

/** Returns the times in which a busy machine did not let a node run, as if it had been stopped. */
function stallsOf(truth) {
  const last = new Map();
  const stalls = [];
  for (const { kind, node, at } of truth) {
    if (kind !== "tell") continue;
    const before = last.get(node) ?? at;
    if (at - before > STALL_MS) stalls.push({ kind: "stall", nodes: [node], at: before, until: at });
    last.set(node, at);
  }
  return stalls;
}

/** Returns the sessions of clients that recover, with the nodes that held their streams. */
function streamsOf(truth, sessions) {
  const streams = new Map();
  for (const { kind, node, subject: session, at } of truth) {
    const known = sessions.get(session);
    if (kind !== "hold" || known?.recovers !== true) continue;
    const stream = streams.get(session) ?? { session, client: known.client, spans: [] };
    const before = stream.spans.at(-1);
    if (before !== undefined) before.until = at;
    stream.spans.push({ node, at, until: undefined });
    streams.set(session, stream);
  }
  return [...streams.values()];
}

/** True if a fault may have kept a message of these nodes from a client. */
function isTroubled(faults, nodes, at) {
  return faults.some((fault) => {
    const from = fault.at - WARM_MS;
    const until = (fault.until ?? Infinity) + REJOIN_MS;
    const concerns = fault.kind === "engine" || fault.nodes.some((node) => nodes.has(node));
    return concerns && at >= from && at <= until;
  });
}

/**
 * A change of a watched resource is told, by its own message or by one that everything may have changed, unless the watch
 * ended, or the node of the change was killed before it could tell the others.
 */
export function* changesArrive({ truth, watches, faults }) {
  const watchOf = new Map(watches.flatMap((watch) => watch.uris.map((uri) => [uri, watch])));
  for (const { kind, node, subject: uri, at } of truth) {
    const watch = kind === "change" ? watchOf.get(uri) : undefined;
    if (watch === undefined || watch.endedAt < at + 2 * REJOIN_MS) continue;
    const isKilled = faults.some(
      (fault) => fault.kind !== "stop" && fault.nodes.includes(node) && fault.at >= at && fault.at <= at + SPREAD_MS,
    );
    const isTold = watch.events.some((event) => event.at >= at - 5 && (event.uri === uri || event.kind === "resync"));
    if (!isTold && !isKilled) yield `${watch.client} is not told of the change of ${uri} on ${node}`;
  }
}
