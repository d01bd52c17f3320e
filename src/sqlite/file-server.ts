import { type Clock, systemClock } from "../call/clock.js";
import type { Database, Session } from "./database.js";
import { failureOf, isShort } from "./failure.js";
import { FileTime } from "./file-time.js";
import type { Call, FileOptions, Outcome, Reply, Request } from "./messages.js";
import { MAX_JOURNAL_BYTES, openFile } from "./open-file.js";
import { isRead, type Operations, operationsOf } from "./operations.js";
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

/** Time for which the cut of the journal waits for other connections. */
const CUT_MS = 200;

/** Works on the file, in a thread of its own, since statements of SQLite block. Calls that come together are one transaction. */
export class FileServer {
  readonly #options: FileServerOptions;
  readonly #session: Session;
  readonly #operations: Operations;
  readonly #time: FileTime;
  readonly #watcher: Watcher;

  /** Opens the file and creates its tables. Throws a ClusterError if that fails. */
  constructor(options: FileServerOptions) {
    this.#options = options;
    const { prefix, timeoutMs, synchronous, pollMs, clock = systemClock } = options;
    try {
      this.#session = openFile(options.open, { prefix, synchronous, timeoutMs });
      this.#operations = operationsOf(this.#session);
      this.#time = new FileTime(this.#session, clock);
    } catch (error) {
      throw failureOf(error, "open the file");
    }
    const tell = (news: Extract<Reply, { kind: "news" }>["news"]) => options.post({ kind: "news", news });
    this.#watcher = new Watcher({ session: this.#session, clock, pollMs, tell });
  }

  handle(request: Request): void {
    if (request.kind === "watch") this.#watcher.watch(request.watched);
    else if (request.kind === "run") this.#answer(request.calls);
    else if (request.kind === "close") this.#close();
    else if (!this.#options.isSame()) this.#close();
    else if (this.#options.journalBytes() > MAX_JOURNAL_BYTES) this.#cutJournal();
  }

  /**
   * Moves the contents of the journal to the file, and cuts it. SQLite itself begins the journal anew only in a moment
   * without other connections that read or write, which does not come under load.
   */
  #cutJournal(): void {
    const { database } = this.#session;
    database.exec(`pragma busy_timeout = ${CUT_MS}`);
    try {
      database.prepare("pragma wal_checkpoint(truncate)").get();
    } catch {
      // Another connection was faster, or the disk fails, which the next operation tells. The next check tries it again.
    } finally {
      database.exec(`pragma busy_timeout = ${Math.ceil(this.#options.timeoutMs)}`);
    }
  }

  #answer(calls: readonly Call[]): void {
    this.#options.post({ kind: "ran", outcomes: this.#run(calls) });
    this.#watcher.stir();
    // Changes of this connection do not change its data_version.
    if (calls.some(([name]) => !isRead(name))) this.#watcher.look();
  }

  /** Runs calls in one transaction. If a call fails, each is run in a transaction of its own. */
  #run(calls: readonly Call[]): Outcome[] {
    const { database } = this.#session;
    const [[operation] = ["probe"]] = calls;
    const areReads = calls.every(([name]) => isRead(name));
    let isCommit = false;
    try {
      database.exec(areReads ? "begin" : "begin immediate");
    } catch (error) {
      return calls.map(() => failed(error, operation));
    }
    try {
      this.#session.now = this.#time.begin(areReads);
      const outcomes = calls.map(([name, args]) => ({ value: this.#call(name, args) }));
      isCommit = true;
      database.exec("commit");
      this.#time.end();
      return outcomes;
    } catch (error) {
      this.#rollBack();
      if (isCommit || calls.length === 1) return calls.map(() => failed(error, operation, isCommit));
    }
    return calls.flatMap((call) => this.#run([call]));
  }

  #call(name: Call[0], args: readonly unknown[]): unknown {
    return (this.#operations[name] as (...args: readonly unknown[]) => unknown)(...args);
  }

  /** Ends a transaction, unless SQLite has ended it with the error. */
  #rollBack(): void {
    try {
      this.#session.database.exec("rollback");
    } catch {
      // There is no transaction.
    }
  }

  #close(): void {
    this.#watcher.close();
    this.#session.database.close();
    this.#options.end();
  }
}

function failed(error: unknown, operation: string, isCommit = false): Outcome {
  const { failure, message } = failureOf(error, operation, isCommit);
  return { failure, message, isShort: isShort(error) };
}
