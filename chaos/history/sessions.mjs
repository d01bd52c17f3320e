import { concerns, overlaps, troublesOf } from "./troubles.mjs";

/**
 * `onOpen` is called once for each session of a client. Any other session belongs to a handshake of its client, in the same
 * attempt to connect, whose response did not name a session: one session for each. Such a session has not ended only if the
 * handshake was not refused, or if a fault or a stall kept its node from ending it.
 */
export function* opensOnce(view) {
  const { truth, sessions, handshakes } = view;
  const troubles = troublesOf(view);
  const isTroubled = ({ at, until = at, node }) =>
    troubles.some((trouble) => concerns(trouble, new Set([node])) && overlaps(trouble, at, until));
  const opens = truth.filter(({ kind }) => kind === "open");
  const counts = countBySubject(truth, "open");
  for (const [id, { client }] of sessions)
    if (counts.get(id) !== 1) yield `onOpen of a session of ${client} is called ${counts.get(id) ?? 0} times`;
  const known = new Set([...sessions.keys(), ...handshakes.map(({ session }) => session)]);
  const ended = countBySubject(truth, "close");
  const failed = handshakes.filter(({ session }) => session === undefined);
  const attempts = new Map();
  for (const { subject: id, principal: client, session: attempt } of opens) {
    if (known.has(id)) continue;
    const key = `${client} ${attempt}`;
    const strays = attempts.get(key) ?? { client, attempt, count: 0, open: 0 };
    attempts.set(key, strays);
    strays.count++;
    if (!ended.has(id)) strays.open++;
  }
  for (const { client, attempt, count, open } of attempts.values()) {
    const own = failed.filter((handshake) => handshake.client === client && handshake.attempt === attempt);
    const uncertain = own.filter((handshake) => handshake.isRefused !== true || isTroubled(handshake));
    if (count > own.length || open > uncertain.length)
      yield `${count} sessions of attempt ${attempt} of ${client} have no client, and ${open} stay open, but ${own.length} handshakes failed, ${uncertain.length} with an unknown outcome`;
  }
}

/** `onEnd` is called at most once for a session. */
export function* endsOnce({ truth }) {
  for (const [id, count] of countBySubject(truth, "close"))
    if (count > 1) yield `onEnd of session ${id} is called ${count} times`;
}

/** A session is known until its client ends it, or until a fault loses the state. */
export function* sessionsStay({ lostSessions, truth, faults }) {
  const lossOf = lossesOf(truth, faults);
  for (const { client, session, at } of lostSessions)
    if (lossOf(session) > at) yield `a session of ${client} is unknown before its end`;
}

/**
 * Returns a function that finds the time at which a fault loses a session with the whole state, or Infinity. Such a fault
 * has the time from which on nothing of the state is left (`lostAt`), and the time since which it is lost (`lostFrom`),
 * unless all of it is.
 */
export function lossesOf(truth, faults) {
  const opens = new Map(truth.filter(({ kind }) => kind === "open").map(({ subject, at }) => [subject, at]));
  const losses = faults.filter(({ lostAt }) => lostAt !== undefined);
  const isLost = ({ lostFrom = 0, lostAt }, openedAt) => lostFrom <= openedAt && openedAt <= lostAt;
  return (session) => losses.find((loss) => isLost(loss, opens.get(session)))?.at ?? Number.POSITIVE_INFINITY;
}

function countBySubject(truth, kind) {
  const counts = new Map();
  for (const entry of truth) if (entry.kind === kind) counts.set(entry.subject, (counts.get(entry.subject) ?? 0) + 1);
  return counts;
}
