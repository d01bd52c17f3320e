/**
 * `onOpen` is called once for each session of a client. Others are of handshakes that failed: they have ended, unless the
 * answer was lost.
 */
export function* opensOnce({ truth, sessions, uncertainHandshakes }) {
  const opens = countBySubject(truth, "open");
  for (const [id, { client }] of sessions)
    if (opens.get(id) !== 1) yield `onOpen of a session of ${client} is called ${opens.get(id) ?? 0} times`;
  const ended = countBySubject(truth, "close");
  const unknown = [...opens.keys()].filter((id) => !sessions.has(id) && !ended.has(id)).length;
  if (unknown > uncertainHandshakes)
    yield `${unknown} sessions are opened without a client, but only ${uncertainHandshakes} handshakes have an unknown outcome`;
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
 * has the time from which on nothing of the state is left (`lostAt`).
 */
export function lossesOf(truth, faults) {
  const opens = new Map(truth.filter(({ kind }) => kind === "open").map(({ subject, at }) => [subject, at]));
  const losses = faults.filter(({ lostAt }) => lostAt !== undefined);
  return (session) => losses.find(({ lostAt }) => lostAt >= opens.get(session))?.at ?? Number.POSITIVE_INFINITY;
}

function countBySubject(truth, kind) {
  const counts = new Map();
  for (const entry of truth) if (entry.kind === kind) counts.set(entry.subject, (counts.get(entry.subject) ?? 0) + 1);
  return counts;
}
