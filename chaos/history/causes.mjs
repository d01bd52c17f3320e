import { concerns, overlaps, startsOf, troublesOf } from "./troubles.mjs";

/** Time in which the end of a cut connection reaches the client. */
const LAG_MS = 250;
/** Time in which an answer that a node has taken reaches the handler that asked. */
const ANSWER_MS = 1_000;
/** Time without a renewal after which other nodes take a node for dead: a lease without the time between renewals. */
const DEATH_MS = 1_900;
/** Text of the error that another node writes for a call of a dead one. */
const DIED = /has died/;

/** A call ends without a result only if a fault, a stall, the start of its node or the cut of its connection explains it. */
export function* endsHaveCauses(view) {
  const troubles = [...troublesOf(view), ...startsOf(view.truth)];
  const cutsOf = indexCuts(view.truth);
  for (const call of view.calls) {
    const places = placesOf(call, view.runOf(call));
    for (const end of call.settlements) {
      if (end.how !== "error" || DIED.test(end.message)) continue;
      const isTroubled = troubles.some(
        (trouble) => concerns(trouble, places) && overlaps(trouble, call.beganAt, end.at),
      );
      if (isTroubled || (mayFollowCut(call, end) && hasCut(cutsOf(call.client), places, call.beganAt, end.at)))
        continue;
      yield `call ${call.number} (${call.kind}) of ${call.client} ends without a result, and nothing explains it: ${end.message}`;
    }
  }
}

/** A call is told that its process has died only if that one was killed, or was stopped or stalled for about a lease. */
export function* deathsHaveCauses(view) {
  const isDeadly = ({ kind, at, until }) => kind === "kill" || kind === "engine" || until - at >= DEATH_MS;
  const deaths = troublesOf(view).filter((trouble) => trouble.nodes.length > 0 && isDeadly(trouble));
  for (const call of view.calls) {
    const places = placesOf(call, view.runOf(call));
    const isDead = (at) =>
      deaths.some(
        ({ nodes, ...trouble }) =>
          concerns({ nodes }, places) && overlaps({ ...trouble, kind: "node" }, call.beganAt, at),
      );
    for (const { message, at } of call.settlements)
      if (DIED.test(message) && !isDead(at))
        yield `call ${call.number} of ${call.client} is told that its process has died, but nobody killed ${[...(places ?? ["a node"])]}`;
  }
}

/**
 * A full engine refuses calls: one that begins while it is full, and ends without a result, was not delivered and is safe to
 * repeat, unless another fault, a stall, a start or a cut explains an unknown outcome. Nothing hangs until there is room.
 */
export function* fullRefuses(view) {
  const troubles = [...troublesOf(view), ...startsOf(view.truth)].filter(({ kind }) => kind !== "full");
  const cutsOf = indexCuts(view.truth);
  for (const full of view.faults.filter(({ kind }) => kind === "full")) {
    const isIn = ({ beganAt }) => beganAt >= full.at && beganAt <= (full.until ?? beganAt);
    for (const call of view.calls.filter(isIn)) {
      const places = placesOf(call, view.runOf(call));
      for (const end of call.settlements) {
        if (end.how !== "error" || isRefused(end) || hasWaited(end, view.runOf(call), full)) continue;
        const isTroubled = troubles.some(
          (trouble) => concerns(trouble, places) && overlaps(trouble, call.beganAt, end.at),
        );
        if (isTroubled || (mayFollowCut(call, end) && hasCut(cutsOf(call.client), places, call.beganAt, end.at)))
          continue;
        yield `call ${call.number} (${call.kind}) of ${call.client} is not refused for sure by a full engine: ${end.message}`;
      }
    }
  }
}

/** A call whose node has not noticed yet that the engine is full waits for it. nginx gives such a call up before it begins. */
function hasWaited({ status }, { begins }, full) {
  return status === 504 && begins.every(({ at }) => at >= full.until);
}

/** Clients of the official SDK know the status of a refusal only. */
function isRefused({ delivery, retrySafe, status }) {
  const isSafe = retrySafe === true && (delivery === "refused" || delivery === "not_sent");
  return isSafe || (delivery === undefined && status === 503);
}

/**
 * A handler fails only if a fault or a stall concerns the engine or its node, or its node has just started. A question may also be lost with the node that
 * took its answer, by the cut of the connection of the answer, or while the clients stall.
 */
export function* failuresHaveCauses(view) {
  const troubles = [...troublesOf(view), ...startsOf(view.truth)];
  const cutsOf = indexCuts(view.truth);
  for (const call of view.calls) {
    const run = view.runOf(call);
    const nodes = new Set([...run.begins.map(({ node }) => node), "clients"]);
    const isTroubled = (places, from, to) =>
      troubles.some((trouble) => concerns(trouble, places) && overlaps(trouble, from, to));
    const isAnswerLost = ({ at, until = at, node, status }) =>
      isTroubled(node && new Set([node]), at, until + ANSWER_MS) ||
      ((status === undefined || status >= 500) &&
        hasCut(cutsOf(call.client), node && new Set([node]), at, until + LAG_MS));
    for (const { how, text, at } of call.settlements) {
      if (how !== "failed" || isTroubled(nodes, call.beganAt, at)) continue;
      if ((call.answers ?? []).some(isAnswerLost)) continue;
      yield `call ${call.number} (${call.kind}) of ${call.client} fails in its handler, and nothing explains it: ${text}`;
    }
  }
}

/** Time in which a client of the official SDK tries to resume a stream. */
const RETRIES_MS = 3_000;

/** A client of the official SDK stops to listen only if a fault or a stall explains that no node took its stream. */
export function* deafnessHasCauses(view) {
  const troubles = [...troublesOf(view), ...startsOf(view.truth)];
  for (const { client, session, at } of view.deaf ?? [])
    if (!troubles.some((trouble) => concerns(trouble, undefined) && overlaps(trouble, at - RETRIES_MS, at)))
      yield `${client} no longer listens to session ${session}, and nothing explains it`;
}

/** Time in which a cancellation reaches the handler of a call. */
const CANCEL_MS = 3_000;

/** A handler of a cancelled call ends soon, unless a fault, a stall or a cut may have lost the cancellation. */
export function* cancelsArrive(view) {
  const troubles = [...troublesOf(view), ...startsOf(view.truth)];
  const cutsOf = indexCuts(view.truth);
  for (const call of view.calls) {
    const [end] = call.settlements;
    const { begins, ends, fails } = view.runOf(call);
    if (end?.how !== "cancelled" || begins.length === 0) continue;
    const latest = Math.max(end.at, begins.at(-1).at) + CANCEL_MS;
    if (latest > view.endedAt || [...ends, ...fails].some(({ at }) => at <= latest)) continue;
    const isTroubled = troubles.some(
      (trouble) => concerns(trouble, undefined) && overlaps(trouble, call.beganAt, latest),
    );
    if (isTroubled || hasCut(cutsOf(call.client), undefined, call.beganAt, latest)) continue;
    yield `call ${call.number} of ${call.client} was cancelled, and still runs on ${begins.at(-1).node}`;
  }
}

/**
 * Returns the nodes that the requests of a call have reached, or undefined if one of them is not known: its response did
 * not name the node, and no handler began.
 */
function placesOf({ attempts = [] }, { begins }) {
  const named = attempts.map(({ node }) => node).filter((node) => node !== undefined);
  const isKnown = Math.max(attempts.length, 1) <= Math.max(named.length, begins.length);
  return isKnown ? new Set([...named, ...begins.map(({ node }) => node)]) : undefined;
}

/** A cut connection proves no refusal. A client of a session that recovers reads the stream of its call on. */
function mayFollowCut({ era, recovers }, { delivery }) {
  if (delivery === "not_sent" || delivery === "refused") return false;
  return !(era === "legacy" && recovers && delivery === "answer_lost");
}

/** Returns a function that finds the cuts of connections of calls, answers and other POST requests of a client. */
function indexCuts(truth) {
  const cuts = new Map();
  for (const entry of truth) {
    const { kind, subject, principal: method, session: name } = entry;
    if (kind !== "cut" || method !== "POST" || (name !== "-" && name !== "tools/call")) continue;
    cuts.set(subject, [...(cuts.get(subject) ?? []), entry]);
  }
  return (client) => cuts.get(client) ?? [];
}

function hasCut(cuts, places, from, to) {
  return cuts.some(({ node, at }) => at >= from && at <= to + LAG_MS && (places === undefined || places.has(node)));
}
