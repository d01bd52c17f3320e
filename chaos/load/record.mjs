/** Everything that the clients of a run saw, for the history checker. Times are those of the machine, as in the truth. */
export class Record {
  calls = [];
  /** Sessions that clients know, by id. */
  sessions = new Map();
  /** Handshakes of clients, with the session that the response named, as `Wire` saw them. */
  handshakes = [];
  /** Times in which clients made no calls, since they ended a session. */
  leaves = [];
  /** Sessions that a server no longer knew, although nobody had ended them. */
  lostSessions = [];
  /** Numbered messages to all sessions: session, sender, number, time. */
  messages = [];
  watches = [];
  /** Times at which clients of the official SDK stopped to listen to a session. */
  deaf = [];
  /** Requests that ended a session, with the status of the response. */
  ends = [];
  /** Requests with the session of another principal, and those that were served. */
  thefts = { tried: 0, served: 0 };
  /** Questions that reached a client that had not made their call. */
  strayQuestions = [];

  call(client, kind, details) {
    const call = {
      number: this.calls.length,
      kind,
      client: client.name,
      era: client.era,
      session: client.session,
      recovers: client.recovers,
      beganAt: Date.now(),
      settlements: [],
      notices: [],
      /** Requests of the call, and of the answer to its question, as `Wire` saw them. */
      attempts: [],
      answers: [],
      ...details,
    };
    this.calls.push(call);
    return call;
  }
}

/** Returns how a call settled with a result. */
export function settledByResult({ text, isError }) {
  return { at: Date.now(), how: isError ? "failed" : "result", text };
}

/** Returns how a call settled with an error. Those of the official SDK have a `code`. */
export function settledByError(error) {
  const { delivery, retrySafe, name, message, rpcCode, status, code } = error;
  return { at: Date.now(), how: "error", delivery, retrySafe, name, message, rpcCode, status: status ?? httpOf(code) };
}

const httpOf = (code) => (code >= 100 && code < 600 ? code : undefined);

/** Returns how a call settled that its client cancelled. */
export function settledByCancel() {
  return { at: Date.now(), how: "cancelled" };
}
