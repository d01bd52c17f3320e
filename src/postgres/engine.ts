import type { Clock } from "../call/clock.js";
import { ClusterError } from "../cluster/error.js";
import type { PostgresClient, Row, Value } from "./client.js";
import { failureOf, isLoss, isShort } from "./failure.js";

/** Statement with the name of its operation, for errors. */
export interface Statement {
  readonly operation: string;
  readonly text: string;
  /** True if the statement changes nothing, so that a lost connection leaves no doubt. */
  readonly isRead?: boolean;
}

/** Runs statements within a time limit. While the server is known to be away, statements fail at once. */
export class Engine {
  readonly clock: Clock;
  readonly #client: PostgresClient;
  readonly #timeoutMs: number;
  readonly #running = new Set<AbortController>();
  readonly #failed = new Set<() => void>();
  /** Called when the server could not store something. */
  onShort: () => void = () => {};
  #isAway = false;
  #isClosed = false;
  /** First attempt to start, until it has ended. */
  #starting: Promise<void> | undefined;
  /** Reason why the start has not succeeded yet. */
  #problem: ClusterError | undefined;

  constructor(client: PostgresClient, clock: Clock, timeoutMs: number) {
    this.#client = client;
    this.clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  set isAway(isAway: boolean) {
    this.#isAway = isAway;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Adds a listener of statements that failed since the server could not be reached. It finds out when it can be. */
  onFailure(listener: () => void): void {
    this.#failed.add(listener);
  }

  /** Lets statements wait for the first attempt to start. If it fails, they fail until `started` is called. */
  startBy(attempt: Promise<void>): void {
    this.#starting = attempt.then(
      () => {
        this.#starting = undefined;
      },
      (error) => {
        this.#starting = undefined;
        this.#problem = failureOf(error, "start", true);
      },
    );
  }

  started(): void {
    this.#problem = undefined;
    this.#isAway = false;
  }

  /** True after a start that succeeded, as long as the server can be reached. */
  get isAvailable(): boolean {
    const isStarted = this.#starting === undefined && this.#problem === undefined;
    return isStarted && !this.#isAway && !this.#isClosed;
  }

  /** Runs a statement. Rejects at once with `unavailable` while the server is known to be away. */
  async run(statement: Statement, ...values: Value[]): Promise<readonly Row[]> {
    const { operation } = statement;
    if (this.#starting !== undefined) await this.#starting;
    if (this.#isClosed) throw new ClusterError("unavailable", `PostgreSQL, ${operation}: the cluster is closed.`);
    if (this.#problem !== undefined) throw this.#problem;
    if (this.#isAway)
      throw new ClusterError(
        "unavailable",
        `PostgreSQL, ${operation}: the server cannot be reached. Nothing was sent. The cluster reconnects by itself.`,
      );
    return this.attempt(statement, values);
  }

  /** Runs a statement that returns the rows which it changed. Resolves with true if there are any. */
  async changes(statement: Statement, ...values: Value[]): Promise<boolean> {
    return (await this.run(statement, ...values)).length > 0;
  }

  /** Runs a statement, even while the server seems to be away. */
  async attempt(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    const { operation, text, isRead = false } = statement;
    const stop = new AbortController();
    const late = () => stop.abort(new Error(`no answer within ${this.#timeoutMs} ms (option timeoutMs)`));
    const timer = this.clock.schedule(late, this.#timeoutMs);
    this.#running.add(stop);
    try {
      return await this.#client.query(text, values, stop.signal);
    } catch (thrown) {
      const error = failureOf(stop.signal.aborted ? reasonOf(thrown, stop.signal) : thrown, operation, isRead);
      if (isShort(error)) this.onShort();
      if (isLoss(error) && !this.#isClosed) {
        this.#isAway = true;
        for (const tell of this.#failed) tell();
      }
      throw error;
    } finally {
      this.clock.cancel(timer);
      this.#running.delete(stop);
    }
  }

  /** Refuses further statements, and ends the running ones. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#running) stop.abort(new Error("the cluster was closed"));
  }
}

/** Names the reason of the abort in place of the error that the library gives to an interrupted statement. */
function reasonOf(thrown: unknown, signal: AbortSignal): unknown {
  if (thrown instanceof Error && thrown.cause === signal.reason) return thrown;
  return signal.reason;
}
