import { runWithin } from "../call/abortable.js";
import { backoffMs } from "../call/backoff.js";
import { type Clock, pause } from "../call/clock.js";
import { type Deadline, DeadlineQueue } from "../call/deadline-queue.js";
import type { ClusterError } from "../cluster/error.js";
import type { RedisClient, RedisConnection } from "./client.js";
import { away, failureOf, isMoved, isReply } from "./failure.js";

/** Delays between attempts to connect. */
const RETRY = { delayMs: 50, maxDelayMs: 2_000 };
/** Maximum number of operations of a link that wait for a reply. */
const MAX_WAITING = 20_000;

export interface LinkOptions {
  readonly name: string;
  readonly client: RedisClient;
  readonly clock: Clock;
  /** Maximum time of an operation, and of an attempt to connect. */
  readonly timeoutMs: number;
  /** Prepares a new connection before operations use it. The attempt fails if it rejects. */
  prepare(connection: RedisConnection): Promise<void>;
  onMessage?(channel: string, text: string): void;
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
export class Link {
  readonly #options: LinkOptions;
  readonly #deadlines: DeadlineQueue<Waiting>;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #first: Promise<void> | undefined;
  #connection: RedisConnection | undefined;
  #waiting = 0;
  #failure: ClusterError | undefined;

  constructor(options: LinkOptions) {
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
  get connection(): RedisConnection | undefined {
    return this.#connection;
  }

  /** Resolves if there is a connection, after the first attempt to connect. Rejects otherwise. `what` is in the error. */
  async tried(what: string): Promise<void> {
    await this.#first;
    if (!this.isUp) throw this.#away(what);
  }

  /** Runs an operation on the connection. `what` names it in errors. */
  ask<T>(what: string, isRead: boolean, work: (connection: RedisConnection) => Promise<T>): Promise<T> {
    const connection = this.#connection;
    if (connection === undefined) {
      if (this.#first !== undefined) return this.#first.then(() => this.ask(what, isRead, work));
      return Promise.reject(this.#away(what));
    }
    if (this.#waiting >= MAX_WAITING)
      return Promise.reject(away(`${what}: ${MAX_WAITING} operations wait for Redis already; limit concurrent calls`));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { isLate: false, fail: (error) => reject(failureOf(error, what, isRead)) };
      waiting.deadline = this.#deadlines.add(waiting);
      this.#waiting++;
      work(connection)
        .then(resolve, (error: unknown) => {
          if (!isReply(error) || isMoved(error)) connection.close();
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
        this.#failure = failureOf(error, `connect (${this.#options.name})`, true);
        onTried();
      }
      await pause(clock, backoffMs(failures, RETRY), signal);
    }
  }

  async #open(): Promise<{ connection: RedisConnection; closed: Promise<void> }> {
    const { client, clock, timeoutMs, onMessage, prepare, onDown } = this.#options;
    let onClose = () => {};
    const closed = new Promise<void>((resolve) => {
      onClose = () => {
        const wasUp = this.#connection !== undefined;
        this.#connection = undefined;
        if (wasUp) onDown?.();
        resolve();
      };
    });
    const late = () => away(`connect (${this.#options.name}): Redis did not answer within ${timeoutMs} ms`);
    const connection = await runWithin({ clock, signal: this.#closing.signal, ms: timeoutMs, late }, async (signal) => {
      const opened = await client.open({ onMessage: (channel, text) => onMessage?.(channel, text), onClose }, signal);
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

  #away(what: string): ClusterError {
    if (this.#closing.signal.aborted) return away(`${what}: the cluster is closed`);
    const { failure, message } = this.#failure ?? { failure: "unavailable", message: "the connection was lost" };
    if (failure === "refused" && this.#failure !== undefined) return this.#failure;
    return away(`${what}: Redis cannot be reached; it is tried again: ${message}`, this.#failure);
  }
}
