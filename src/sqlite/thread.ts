import { type Clock, systemClock } from "../call/clock.js";
import { failureOf } from "./failure.js";
import { type Call, type FileOptions, isRead, type Outcome, type Reply, type Request } from "./messages.js";
import { type Operations, operationsOf } from "./operations.js";
import type { Database, Session } from "./session.js";
import { MAX_JOURNAL_BYTES, openFile } from "./start.js";
import { FileTime } from "./time.js";
import { Watcher } from "./watcher.js";

export interface FileServerOptions extends FileOptions {
  open(): Database;
  /** True if the file at the path is the one that is open. */
  isSame(): boolean;
  /** Returns the size of the journal in bytes. */
  journalBytes(): number;
  post(reply: Reply): void;
  /** Ends the thread. */
  end(): void;
  readonly clock?: Clock;
}

/** Time for which work beside operations waits for other connections. */
const ASIDE_MS = 200;

/** Number of heartbeats between two deletions of rows that are over. */
const BEATS_PER_SWEEP = 10;

/** Works on the file, in a thread of its own, since statements of SQLite block. Calls that come together are one transaction. */
export class FileServer {
  readonly #options: FileServerOptions;
  readonly #clock: Clock;
  readonly #session: Session;
  readonly #operations: Operations;
  readonly #time: FileTime;
  readonly #watcher: Watcher;
  #heartbeat: unknown;
  #sweeping: unknown;
  #beats = 0;

  /** Opens the file and creates its tables. Throws if that fails. */
  constructor(options: FileServerOptions) {
    const { pollMs, post, clock = systemClock } = options;
    const session = openFile(options.open, options);
    this.#options = options;
    this.#clock = clock;
    this.#session = session;
    this.#operations = operationsOf(session);
    this.#time = new FileTime(session, clock);
    this.#watcher = new Watcher({ session, clock, pollMs, tell: (news) => post({ kind: "news", news }) });
    this.#plan();
  }

  handle(request: Request): void {
    if (request.kind === "close") return this.#close();
    const { calls } = request;
    const outcomes = this.#run(calls);
    this.#watcher.stir();
    // Changes of this connection do not change its data_version.
    const news = calls.every(([name]) => isRead(name)) ? undefined : this.#watcher.look();
    this.#options.post({ kind: "ran", outcomes, news });
  }

  /** Runs calls in one transaction. If a call fails, each is run in a transaction of its own. */
  #run(calls: readonly Call[]): Outcome[] {
    const session = this.#session;
    const areReads = calls.every(([name]) => isRead(name));
    let isCommit = false;
    try {
      session.exec(areReads ? "begin" : "begin immediate");
    } catch (error) {
      return calls.map(() => failureOf(error));
    }
    try {
      session.now = this.#time.begin(areReads);
      session.notices.clear();
      const outcomes = calls.map(([name, args]) => ({ value: this.#call(name, args) }));
      this.#operations.send(session.notices);
      isCommit = true;
      session.exec("commit");
      this.#time.end();
      return outcomes;
    } catch (error) {
      this.#rollBack();
      if (isCommit || calls.length === 1) return calls.map(() => failureOf(error, isCommit));
    }
    return calls.flatMap((call) => this.#run([call]));
  }

  #call(name: Call[0], args: readonly unknown[]): unknown {
    return (this.#operations[name] as (...args: readonly unknown[]) => unknown)(...args);
  }

  /** Ends a transaction, unless SQLite has ended it with the error. */
  #rollBack(): void {
    try {
      this.#session.exec("rollback");
    } catch {
      // There is no transaction.
    }
  }

  #plan(): void {
    this.#heartbeat = this.#clock.schedule(() => {
      if (!this.#options.isSame()) return this.#close();
      this.#plan();
      if (this.#options.journalBytes() > MAX_JOURNAL_BYTES) this.#aside(() => this.#cutJournal());
      this.#beats++;
      if (this.#beats % BEATS_PER_SWEEP === 0) this.#sweep((BEATS_PER_SWEEP * this.#options.heartbeatMs) / 2);
    }, this.#options.heartbeatMs);
  }

  /**
   * Moves the contents of the journal to the file, and cuts it. SQLite itself begins the journal anew only in a moment
   * without other connections that read or write, which does not come under load.
   */
  #cutJournal(): void {
    try {
      this.#session.prepare("pragma wal_checkpoint(truncate)").get();
    } catch {
      // Another connection was faster, or the disk fails, which the next operation tells. The next heartbeat tries it again.
    }
  }

  /** Deletes a part of the rows that are over. Operations that have come run before the next part. */
  #sweep(everyMs: number): void {
    const [outcome] = this.#aside(() => this.#run([["sweep", [everyMs]]]));
    // If it has failed, the next operation tells it, and the next sweep deletes the rest.
    const isMore = outcome !== undefined && "value" in outcome && outcome.value === true;
    if (isMore) this.#sweeping = this.#clock.schedule(() => this.#sweep(0), 0);
  }

  /** Runs work that waits only shortly for other connections, since operations wait meanwhile. */
  #aside<T>(work: () => T): T {
    this.#session.wait(ASIDE_MS);
    try {
      return work();
    } finally {
      this.#session.wait(this.#options.timeoutMs);
    }
  }

  #close(): void {
    this.#clock.cancel(this.#heartbeat);
    this.#clock.cancel(this.#sweeping);
    this.#watcher.close();
    this.#session.database.close();
    this.#options.end();
  }
}
