import { describeError, describeValue } from "./describe.mjs";

/** Record of one scenario: responses in order, reports, and calls of handlers. */
export class Journal {
  /** Messages that came over the wire, in the order of the script. */
  answers = [];
  /** Calls of `onError` and of the logger. */
  reports = [];
  /** Calls of the author's handlers and listeners. */
  seen = [];
  /** Port that the system chose, if there is one. */
  port;
  #now;

  /** Options of a server or client that write to this journal. */
  get options() {
    const log = (level) => (message, fields) => {
      this.reports.push(fields === undefined ? { level, message } : { level, message, fields: describeValue(fields) });
    };
    return {
      logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      onError: (error, context) => {
        this.reports.push({ error: describeError(error), ...(context && { context: describeValue(context) }) });
      },
    };
  }

  /** @param {() => number} [now] the time of the script, for what depends on it */
  constructor(now = () => 0) {
    this.#now = now;
  }

  answer(entry) {
    this.answers.push(...this.#time(), entry);
  }

  saw(what, value) {
    this.seen.push(...this.#time(), value === undefined ? what : [what, describeValue(value)]);
  }

  #time() {
    return this.#now() === 0 ? [] : [`at ${this.#now()} ms`];
  }

  toJSON() {
    return { answers: this.answers, reports: this.reports, seen: this.seen };
  }
}
