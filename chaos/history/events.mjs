import { lossesOf } from "./sessions.mjs";
import { isOfEngine, stallsOf, troublesOf } from "./troubles.mjs";

/** Time in which a message reaches the other nodes. */
const SPREAD_MS = 3_000;
/** Time until a node serves a new stream for messages of all nodes (`sessionCacheMs`), with some more. */
const WARM_MS = 1_500;
/** Time from the start of a stream within which its client gets a message, and so a position of the stream. */
const FIRST_MS = 5_000;
/** Time after an outage of the engine in which nodes connect again. */
const REJOIN_MS = 3_000;
/** Time in which a new node joins the others. */
const JOIN_MS = 4_000;
/** Time after a fault in which messages that waited for its end arrive. */
const LATE_MS = 6_000;
/** Time in which a change is told, faults apart. */
const ARRIVAL_MS = 10_000;

/**
 * A numbered message reaches a session at most once, and those of one sender in order, but for those that an engine has kept
 * which has lost the position of the client. A message that a node could not
 * store before it lost the stream is passed on, and may come after later ones. Only a takeover after the message was
 * sent explains that, or a fault or a stall that concerns its sender, a holder of the stream or the engine.
 */
export function* messagesOnce(view) {
  const streams = new Map();
  const mayBeLate = latenessOf(view);
  const isBack = repetitionsOf(view);
  for (const message of view.messages) {
    const { session, client, from, number } = message;
    const key = `${session} ${from}`;
    const stream = streams.get(key) ?? { seen: new Set(), again: new Set(), last: 0 };
    streams.set(key, stream);
    if (isBack(message) && !stream.again.has(number)) stream.again.add(number);
    else if (stream.seen.has(number)) yield `${client} gets message ${number} of ${from} twice`;
    else if (number < stream.last && !mayBeLate(message))
      yield `${client} gets message ${number} of ${from} after ${stream.last}`;
    stream.seen.add(number);
    stream.last = Math.max(stream.last, number);
  }
}

/**
 * Returns a function that tells whether a message may come again: an engine that has lost the position of a stream does not
 * know what its client has, so that the client gets once more what the engine has kept.
 */
function repetitionsOf({ truth, faults }) {
  const rollbacks = faults.filter(({ kind }) => kind === "rollback");
  const tells = truth.filter(({ kind }) => kind === "tell");
  const tellOf = new Map(tells.map(({ node, subject, at }) => [`${node} ${subject}`, at]));
  return ({ from, number, at }) =>
    rollbacks.some((rollback) => tellOf.get(`${from} ${number}`) <= rollback.at && rollback.at <= at);
}

/** Returns a function that tells whether a message may come after later ones. */
function latenessOf(view) {
  const troubles = troublesOf(view);
  const spansOf = indexHolders(view.truth);
  const tells = view.truth.filter(({ kind }) => kind === "tell");
  const tellOf = new Map(tells.map(({ node, subject, at }) => [`${node} ${subject}`, at]));
  return ({ session, from, number, at }) => {
    const sentAt = tellOf.get(`${from} ${number}`);
    if (sentAt === undefined) return false;
    const spans = spansOf(session);
    const isTakenOver = spans.some((span, index) => {
      const isByAnother = index > 0 && spans[index - 1].node !== span.node;
      return isByAnother && span.at >= sentAt && span.at <= at;
    });
    const nodes = new Set([from, ...holdersBetween(spans, sentAt, at)]);
    return isTakenOver || troubles.some((trouble) => isConcerned(trouble, nodes, sentAt, at, LATE_MS));
  };
}

/**
 * A numbered message reaches each session with a stream, also if the stream is taken over, unless a fault or a stall
 * concerns the sender, a holder of the stream, or the engine. A client that has no position of the stream loses messages
 * between two connections: one without recovery, and one that has not received a message yet.
 */
export function* messagesArrive(view) {
  const { truth, messages, sessions, faults, endedAt } = view;
  const lossOf = lossesOf(truth, faults);
  const troubles = troublesOf(view);
  const beginnings = new Map();
  for (const { session, at } of messages) if (!beginnings.has(session)) beginnings.set(session, at);
  const got = new Set(messages.map(({ session, from, number }) => `${session} ${from} ${number}`));
  const starts = new Map(truth.filter(({ kind }) => kind === "start").map(({ node, at }) => [node, at]));
  const sent = truth.filter(({ kind, node, at }) => kind === "tell" && at >= (starts.get(node) ?? 0) + JOIN_MS);
  for (const { session, client, openedAt, spans } of streamsOf(truth, sessions)) {
    const first = Math.max(openedAt + WARM_MS, Math.min(beginnings.get(session) ?? 0, openedAt + FIRST_MS));
    const last = Math.min(sessions.get(session).closedAt ?? endedAt, lossOf(session)) - 2 * WARM_MS;
    for (const { node: from, subject: number, at } of sent) {
      if (at < first || at > last || got.has(`${session} ${from} ${number}`)) continue;
      const nodes = new Set([from, ...holdersBetween(spans, at - WARM_MS, at + 2 * WARM_MS)]);
      if (!troubles.some((trouble) => isConcerned(trouble, nodes, at, at + WARM_MS, REJOIN_MS)))
        yield `${client} does not get message ${number} of ${from}`;
    }
  }
}

/** No id is given to two different messages of a session, not even by an engine that has lost the first one. */
export function* idsAreUnique({ truth }) {
  const given = new Map();
  for (const { kind, node, subject: session, principal: id, session: digest } of truth) {
    if (kind !== "event") continue;
    const known = given.get(`${session} ${id}`);
    if (known === undefined) given.set(`${session} ${id}`, { node, digest });
    else if (known.digest !== digest)
      yield `event id ${id} of session ${session} is given by ${known.node}, and to another message by ${node}`;
  }
}

/** Returns the streams of clients that recover, from their first GET on, with the nodes that held them. */
function streamsOf(truth, sessions) {
  const spansOf = indexHolders(truth);
  return [...sessions].flatMap(([session, { client, recovers }]) => {
    const spans = spansOf(session);
    const openedAt = spans.find(({ isGet }) => isGet)?.at;
    return recovers && openedAt !== undefined ? [{ session, client, openedAt, spans }] : [];
  });
}

/** Returns a function that finds the nodes that held the stream of a session, one after the other, with their times. */
function indexHolders(truth) {
  const streams = new Map();
  for (const { kind, node, subject: session, principal: reason, at } of truth) {
    if (kind !== "hold") continue;
    const spans = streams.get(session) ?? [];
    streams.set(session, spans);
    if (spans.length > 0) spans.at(-1).until = at;
    spans.push({ node, isGet: reason === "get", at, until: Number.POSITIVE_INFINITY });
  }
  return (session) => streams.get(session) ?? [];
}

function holdersBetween(spans, from, to) {
  return spans.filter(({ at, until }) => at <= to && until >= from).map(({ node }) => node);
}

/** True if a fault or a stall, or the time after it, is within a time and concerns one of the nodes. */
function isConcerned(trouble, nodes, from, to, afterMs) {
  const concerns = isOfEngine(trouble) || trouble.nodes.some((node) => nodes.has(node));
  return concerns && trouble.at <= to && trouble.until + afterMs >= from;
}

/**
 * A change of a watched resource is told in time, by its own message or by one that everything may have changed, unless
 * the watch ended, an engine has lost it, or the node of the change was killed before it could tell the others. Faults and stalls of this time
 * are added to it.
 */
export function* changesArrive(view) {
  const { truth, watches, faults } = view;
  const delays = [...faults, ...stallsOf(truth)].sort((one, other) => one.at - other.at);
  const watchOf = new Map(watches.flatMap((watch) => watch.uris.map((uri) => [uri, watch])));
  for (const { kind, node, subject: uri, at } of truth) {
    const watch = kind === "change" ? watchOf.get(uri) : undefined;
    if (watch === undefined || watch.endedAt < at + 2 * REJOIN_MS || isLostWatch(watch, faults)) continue;
    const isKilled = faults.some(
      (fault) => fault.kind !== "stop" && fault.nodes.includes(node) && fault.at >= at && fault.at <= at + SPREAD_MS,
    );
    const latest = latestOf(at, delays);
    const isTold = watch.events.some(
      (event) => event.at >= at - 5 && event.at <= latest && (event.uri === uri || event.kind === "resync"),
    );
    // The faults and stalls went on until the end of the watch.
    const isCutOff = latest > at + ARRIVAL_MS && watch.endedAt < latest;
    if (!isTold && !isKilled && !isCutOff)
      yield `${watch.client} is not told of the change of ${uri} on ${node} in time`;
  }
}

/** True if an engine has lost what was watched, since it was stored after the copy that was brought back. */
function isLostWatch({ openedAt }, faults) {
  return faults.some(({ lostFrom, until }) => lostFrom <= openedAt && openedAt <= (until ?? openedAt));
}

/** Returns the time until which a change is told. */
function latestOf(changedAt, delays) {
  let latest = changedAt + ARRIVAL_MS;
  for (const { at, until = Number.POSITIVE_INFINITY } of delays)
    if (at <= latest && until >= changedAt) latest += until - Math.max(at, changedAt);
  return latest;
}
