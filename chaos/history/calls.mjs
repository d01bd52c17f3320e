/** Deliveries of a call that no handler has seen. */
const UNDELIVERED = new Set(["not_sent", "refused"]);

/** A call settles exactly once. */
export function* settlesOnce({ calls }) {
  for (const { number, kind, client, settlements } of calls)
    if (settlements.length !== 1) yield `call ${number} (${kind}) of ${client} settles ${settlements.length} times`;
}

/** A call that is reported as not delivered, or as safe to repeat, has never run. */
export function* undeliveredNeverRan({ calls, runOf }) {
  for (const call of calls) {
    for (const { delivery, retrySafe, message } of call.settlements) {
      if (!UNDELIVERED.has(delivery) && retrySafe !== true) continue;
      const [begin] = runOf(call).begins;
      if (begin !== undefined) yield `call ${call.number} is "${delivery}", but ran on ${begin.node}: ${message}`;
    }
  }
}

/** `retrySafe` follows from `delivery`, and every lost connection has both. */
export function* verdictsAgree({ calls }) {
  for (const { number, settlements } of calls) {
    for (const { how, name, delivery, retrySafe } of settlements) {
      if (how !== "error" || (name !== "ConnectionError" && name !== "RpcError")) continue;
      if (delivery === undefined || retrySafe !== UNDELIVERED.has(delivery))
        yield `call ${number} is "${delivery}" with retrySafe ${retrySafe}`;
    }
  }
}

/** A call with a result has begun and ended, once, and the result is its own. */
export function* resultsAreTrue({ calls, runOf }) {
  for (const call of calls) {
    for (const { how, text } of call.settlements) {
      const { begins, ends, fails } = runOf(call);
      if (how === "result") {
        if (begins.length === 0 || ends.length !== 1)
          yield `call ${call.number} has a result, ${begins.length} begins and ${ends.length} ends`;
        if (text !== resultOf(call)) yield `call ${call.number} has the result "${text}", not "${resultOf(call)}"`;
      } else if (how === "failed" && fails.length === 0) {
        yield `call ${call.number} has the result of a handler that failed, but none did: ${text}`;
      }
    }
  }
}

function resultOf({ number, secret, kind, token }) {
  return kind === "ask" ? `${number} ${secret} ${token}` : `${number} ${secret}`;
}

/** A call runs once. With questions of 2026-07-28 a handler runs once more for each answer. */
export function* runsOnce({ calls, faults, runOf }) {
  const rollbacks = faults.filter(({ kind }) => kind === "rollback");
  for (const call of calls) {
    const { begins, answers, ends } = runOf(call);
    if (isForgotten(call, begins, rollbacks)) continue;
    const most = call.era === "modern" && call.kind === "ask" ? 2 : 1;
    if (begins.length > most || answers.length > 1 || ends.length > 1)
      yield `call ${call.number} (${call.kind}) has ${begins.length} begins, ${answers.length} answers and ${ends.length} ends on ${begins.map(({ node }) => node)}`;
  }
}

/** An engine that has lost writes does not know that a round of 2026-07-28 was answered. The call may begin again. */
function isForgotten({ era }, begins, rollbacks) {
  return (
    era === "modern" &&
    rollbacks.some(
      ({ lostFrom, at, until }) =>
        begins.some((begin) => begin.at >= lostFrom && begin.at <= (until ?? begin.at)) && begins.at(-1).at >= at,
    )
  );
}

/** A call runs as its own principal, in a session of its own client. */
export function* ownPrincipal({ calls, runOf, sessions, thefts, strayQuestions }) {
  for (const call of calls) {
    for (const { principal, session } of runOf(call).begins) {
      if (principal !== call.client) yield `call ${call.number} of ${call.client} runs as ${principal}`;
      const owner = sessions.get(session)?.client;
      if (owner !== undefined && owner !== call.client)
        yield `call ${call.number} of ${call.client} runs in a session of ${owner}`;
    }
  }
  if (thefts.served > 0) yield `${thefts.served} requests with the session of another principal are served`;
  for (const { client, number } of strayQuestions)
    yield `${client} gets the question of call ${number}, which is not its own`;
}

/** The messages of a call arrive at its client, at most once and in order, with none missing before the last or the result. */
export function* callEvents({ calls }) {
  for (const { number, client, kind, steps, notices, settlements } of calls) {
    const stray = notices.find((notice) => notice.client !== client);
    if (stray !== undefined) yield `${stray.client} gets a message of call ${number} of ${client}`;
    const seen = notices.map(({ step }) => step);
    const inOrder = seen.every((step, index) => step === index + 1);
    if (!inOrder) yield `call ${number} has the messages ${seen}`;
    const hasResult = settlements.some(({ how }) => how === "result");
    if (kind === "work" && hasResult && inOrder && seen.length !== steps)
      yield `call ${number} has a result and ${seen.length} of ${steps} messages`;
  }
}
