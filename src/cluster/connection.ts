import { pause, runWithin } from "../call/abortable.js";
import { backoffMs } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import { type Deadline, DeadlineQueue } from "../call/deadline-queue.js";
import { type ClusterError, closedError, unavailable } from "./error.js";

/** Delays between attempts to connect. */
const RETRY = { delayMs: 50, maxDelayMs: 2_000 };
/** Maximum number of operations of a link that wait for a reply. */
const MAX_WAITING = 20_000;

/** Connection to an engine. */
export interface Closable {
  /** Closes the connection at once. Operations that wait for their reply are rejected. */
  close(): void;
}

export interface LinkOptions<C extends Closable> {
  readonly name: string;
  /** Name of the engine in errors. */
  readonly engine: string;
  readonly clock: Clock;
  /** Maximum time of an operation, and of an attempt to connect. */
  readonly timeoutMs: number;
  /** Opens a connection that does not reconnect. `onClose` is called once when an open connection is closed. */
  open(onClose: () => void, signal: AbortSignal): Promise<C>;
  /** Prepares a new connection before operations use it. The attempt fails if it rejects. */
  prepare(connection: C): Promise<void>;
  /** Returns the error of an operation. A read that failed has no outcome that could be unknown. */
  failureOf(error: unknown, what: string, isRead: boolean): ClusterError;
  /** True if the engine answered with this error, so that the connection can be used further. */
  isAnswer(error: unknown): boolean;
  /** Called when operations can use a connection. */
  onUp?(): void;
  onDown?(): void;
}

/** Operation that waits for a reply. */
interface Waiting {
  fail(error: Error): void;
  /** True after half of its time, so that replies which arrived during a pause of this process are read before it fails. */
  isLate: boolean;
  deadline?: Deadline<Waiting>;
}

/**
 * Connection that is opened again after each loss. An operation fails at once while there is none, except during the
 * first attempt to connect.
 */
export class Link<C extends Closable> {
  readonly #options: LinkOptions<C>;
  readonly #deadlines: DeadlineQueue<Waiting>;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #first: Promise<void> | undefined;
  #connection: C | undefined;
  #waiting = 0;
  #failure: ClusterError | undefined;

  constructor(options: LinkOptions<C>) {
    this.#options = options;
    this.#deadlines = new DeadlineQueue(options.clock, options.timeoutMs / 2, (waiting) => this.#onDue(waiting));
    let tried = () => {};
    this.#first = new Promise((resolve) => {
      tried = resolve;
    });
    this.#running = this.#run(() => {
      this.#first = undefined;
      tried();
    });
  }

  get isUp(): boolean {
    return this.#connection !== undefined;
  }

  /** Connection of this moment. */
  get connection(): C | undefined {
    return this.#connection;
  }

  /** Resolves if there is a connection, after the first attempt to connect. Rejects otherwise. `what` is in the error. */
  async tried(what: string): Promise<void> {
    await this.#first;
    if (!this.isUp) throw this.#away(what, "");
  }

  /** Runs an operation on the connection. `what` names it in errors. */
  ask<T>(what: string, isRead: boolean, work: (connection: C) => Promise<T>): Promise<T> {
    const connection = this.#connection;
    if (connection === undefined) {
      if (this.#first !== undefined) return this.#first.then(() => this.ask(what, isRead, work));
      return Promise.reject(this.#away(what));
    }
    if (this.#waiting >= MAX_WAITING)
      return Promise.reject(
        unavailable(
          `${what}: ${MAX_WAITING} operations wait for ${this.#options.engine} already; limit concurrent calls`,
        ),
      );
    const { failureOf, isAnswer } = this.#options;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { isLate: false, fail: (error) => reject(failureOf(error, what, isRead)) };
      waiting.deadline = this.#deadlines.add(waiting);
      this.#waiting++;
      work(connection)
        .then(resolve, (error: unknown) => {
          if (!isAnswer(error)) connection.close();
          reject(failureOf(error, what, isRead));
        })
        .finally(() => {
          this.#waiting--;
          waiting.deadline?.leave();
        });
    });
  }

  /** Closes the connection, so that another one is opened. */
  reset(): void {
    this.#connection?.close();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#connection?.close();
    await this.#running;
  }

  async #run(onTried: () => void): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const { connection, closed } = await this.#open();
        failures = 0;
        this.#failure = undefined;
        this.#connection = connection;
        onTried();
        this.#options.onUp?.();
        await closed;
        this.#connection = undefined;
      } catch (error) {
        this.#failure = this.#options.failureOf(error, `connect (${this.#options.name})`, true);
        onTried();
      }
      await pause(clock, backoffMs(failures, RETRY), signal);
    }
  }

  async #open(): Promise<{ connection: C; closed: Promise<void> }> {
    const { name, engine, clock, timeoutMs, open, prepare, onDown } = this.#options;
    let onClose = () => {};
    const closed = new Promise<void>((resolve) => {
      onClose = () => {
        const wasUp = this.#connection !== undefined;
        this.#connection = undefined;
        if (wasUp) onDown?.();
        resolve();
      };
    });
    const late = () => unavailable(`connect (${name}): ${engine} did not answer within ${timeoutMs} ms`);
    const connection = await runWithin({ clock, signal: this.#closing.signal, ms: timeoutMs, late }, async (signal) => {
      const opened = await open(onClose, signal);
      const end = () => opened.close();
      signal.addEventListener("abort", end, { once: true });
      try {
        signal.throwIfAborted();
        await prepare(opened);
      } catch (error) {
        opened.close();
        throw error;
      } finally {
        signal.removeEventListener("abort", end);
      }
      return opened;
    });
    return { connection, closed };
  }

  #onDue(waiting: Waiting): void {
    if (!waiting.isLate) {
      waiting.isLate = true;
      waiting.deadline = this.#deadlines.add(waiting);
      return;
    }
    waiting.fail(new Error(`no reply within ${this.#options.timeoutMs} ms`));
    this.reset();
  }

  #away(what: string, outlook = "; it is tried again"): ClusterError {
    if (this.#closing.signal.aborted) return closedError(what);
    const { failure, message } = this.#failure ?? { failure: "unavailable", message: "the connection was lost" };
    if (failure === "refused" && this.#failure !== undefined) return this.#failure;
    return unavailable(`${what}: ${this.#options.engine} cannot be reached${outlook}: ${message}`, this.#failure);
  }
}
