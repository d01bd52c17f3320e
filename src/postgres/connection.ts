import type { Clock } from "../call/clock.js";
import { ClusterError, closedError } from "../cluster/error.js";
import { failureOf, isLoss, isShort, NotSent } from "./failure.js";

/** Row of a result. Each statement of this package names its columns by one lower-case word and casts them to text. */
export type Row = Readonly<Record<string, string | null>>;

/** Value of a parameter. Statements cast it. */
export type Value = string | number | null;

/** Connection to PostgreSQL. `fromPg` and `fromPostgresJs` create it from a client library. */
export interface PostgresClient {
  /**
   * Runs one statement in a transaction of its own. Rejects with {@link NotSent} if the statement did not leave this
   * process. When the signal fires, the statement is given up, and a connection that it blocks is closed.
   */
  query(text: string, values: readonly Value[], signal: AbortSignal): Promise<readonly Row[]>;
  /**
   * Listens to a channel on a connection that is used for nothing else. Resolves when the connection listens. `lost` is
   * called once when that connection is lost, or when the library has replaced it by another one.
   */
  listen(channel: string, heard: (payload: string) => void, lost: () => void): Promise<Listening>;
  /** Adds a listener of lost idle connections. Returns a function that removes it. */
  onIdleError(listener: () => void): () => void;
}

export interface Listening {
  /** Closes the connection, or stops listening if the library keeps the connection. */
  close(): Promise<void>;
}

/** Statement with the name of its operation, for errors. */
export interface Statement {
  readonly operation: string;
  readonly text: string;
  /** True if the statement changes nothing, so that a lost connection leaves no doubt. */
  readonly isRead?: boolean;
}

export interface ConnectionOptions {
  readonly client: PostgresClient;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Called when the server could not store something. */
  readonly onShort: () => void;
  /** Called when a statement failed since the server could not be reached. Statements fail at once until `up` is called. */
  readonly onLoss: () => void;
}

/** Runs statements within a time limit. Statements wait for the first attempt to start, and fail at once while the server is away. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #running = new Set<AbortController>();
  #first: Promise<void> | undefined;
  /** Reason why statements fail at once. */
  #problem: ClusterError | undefined;
  #hasStarted = false;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#first === undefined && this.#problem === undefined && !this.#isClosed;
  }

  /** Lets statements wait for the first attempt to start. */
  startBy(attempt: Promise<void>): void {
    const tried = () => {
      this.#first = undefined;
    };
    this.#first = attempt.then(tried, tried);
  }

  /** Notes that the server can be used. */
  up(): void {
    this.#hasStarted = true;
    this.#problem = undefined;
  }

  /** Notes that the server cannot be used. */
  down(problem: ClusterError): void {
    this.#problem = problem;
  }

  /** Resolves if statements can be sent, after the first attempt to start. Rejects otherwise. */
  async usable(what: string): Promise<void> {
    await this.#first;
    if (this.#isClosed) throw closedError(what);
    const problem = this.#problem;
    if (problem?.failure === "refused" && !this.#hasStarted) throw problem;
    if (problem !== undefined)
      throw new ClusterError(
        "unavailable",
        `${what}: PostgreSQL cannot be reached; it is tried again: ${problem.message}`,
        { cause: problem },
      );
  }

  /** Runs a statement about something with this name. */
  async run(statement: Statement, name: string | undefined, values: readonly Value[]): Promise<readonly Row[]> {
    await this.usable(nameOf(statement, name));
    try {
      return await this.attempt(statement, values, name);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      if (isShort(error)) this.#options.onShort();
      if (isLoss(error) && !this.#isClosed) {
        this.down(error);
        this.#options.onLoss();
      }
      throw error;
    }
  }

  /** Runs a statement, even while the server seems to be away. */
  async attempt(statement: Statement, values: readonly Value[], name?: string): Promise<readonly Row[]> {
    const { client, clock, timeoutMs } = this.#options;
    const { text, isRead = false } = statement;
    const stop = new AbortController();
    const late = () => stop.abort(new Error(`no reply within ${timeoutMs} ms (option timeoutMs)`));
    const timer = clock.schedule(late, timeoutMs);
    this.#running.add(stop);
    try {
      return await client.query(text, values, stop.signal);
    } catch (thrown) {
      throw failureOf(stop.signal.aborted ? reasonOf(thrown, stop.signal) : thrown, nameOf(statement, name), isRead);
    } finally {
      clock.cancel(timer);
      this.#running.delete(stop);
    }
  }

  /** Refuses further statements, and ends the running ones. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#running) stop.abort(new Error("the cluster was closed"));
  }
}

function nameOf({ operation }: Statement, name: string | undefined): string {
  return name === undefined ? operation : `${operation} ${JSON.stringify(name)}`;
}

/** Names the reason of the abort in place of the error that the library gives to an interrupted statement. */
function reasonOf(thrown: unknown, signal: AbortSignal): unknown {
  if (thrown instanceof NotSent && thrown.cause === signal.reason) return thrown;
  return signal.reason;
}
