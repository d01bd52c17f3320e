import { followSignal, settlesWithin } from "../call/abortable.js";
import type { Clock } from "../call/clock.js";
import { Link } from "../cluster/connection.js";
import { ClusterError } from "../cluster/error.js";
import type { Store, StoreEvents, StoreLogs } from "../cluster/store.js";
import { Connection } from "./connection.js";
import { type FileOptions, isRead, type StartThread } from "./messages.js";
import type { OperationName, Operations } from "./operations.js";

/** Time beyond the limit of an operation after which a thread that does not answer is replaced. */
const GRACE_MS = 1_000;

/** Time for which `close` waits for the end of the thread. */
const CLOSE_MS = 1_000;

export interface SqliteStoreOptions {
  readonly file: FileOptions;
  readonly clock: Clock;
  /** Starts a thread that works on the file. */
  readonly start: StartThread;
}

/** Store in a file that the processes of a machine share. */
export class SqliteStore implements Store {
  readonly #options: SqliteStoreOptions;
  #link: Link<Connection> | undefined;
  #connection: Connection | undefined;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#link?.isUp === true;
  }

  connect(events: StoreEvents): Promise<void> {
    const { clock, file } = this.#options;
    let isFirst = true;
    const link = new Link<Connection>({
      name: file.path,
      engine: "SQLite",
      clock,
      timeoutMs: file.timeoutMs + GRACE_MS,
      open: (onClose, signal) => this.#open(events, onClose, signal),
      prepare: async () => {},
      failureOf,
      // A connection that cannot be used further has closed itself.
      isAnswer: () => true,
      // Another file may be open now.
      onUp: () => !isFirst && events.onMissed(),
    });
    this.#link = link;
    return link.tried("open the file").finally(() => {
      isFirst = false;
    });
  }

  async close(): Promise<void> {
    await this.#link?.close();
    if (this.#connection !== undefined) await settlesWithin(this.#connection.ended, CLOSE_MS);
  }

  get: Store["get"] = (key) => this.#run(named("get record", key), "get", key);

  put: Store["put"] = (key, value, options) => this.#run(named("put record", key), "put", key, value, options);

  touch: Store["touch"] = (key, ttlMs, ifVersion) =>
    this.#run(named("touch record", key), "touch", key, ttlMs, ifVersion);

  delete: Store["delete"] = (key, ifVersion) => this.#run(named("delete record", key), "delete", key, ifVersion);

  list: Store["list"] = (index, { after, limit }) =>
    this.#run(named("list the index", index), "list", index, after, limit);

  count: Store["count"] = (index) => this.#run(named("count the index", index), "count", index);

  takeDue: Store["takeDue"] = (index, options) =>
    this.#run(named("take from the index", index), "takeDue", index, options);

  takeTokens: Store["takeTokens"] = (key, burst, refillMs, want) =>
    this.#run(named("take tokens of bucket", key), "takeTokens", key, burst, refillMs, want);

  readonly logs: StoreLogs = {
    create: (log, limits) => this.#run(named("create log", log), "create", log, limits),
    claim: (log, stream, node, claim) =>
      this.#run(named("claim a stream of log", log), "claim", log, stream, node, claim),
    append: (claimed, seq, entries, notice) => {
      const copied = entries.map(({ data, last }) => ({ data, last }));
      return this.#run(named("append to log", claimed.log), "append", claimed, seq, copied, notice);
    },
    find: (log, place) => this.#run(named("find an entry of log", log), "find", log, place),
    read: (log, stream, after, limit) => this.#run(named("read log", log), "read", log, stream, after, limit),
    open: (node, after) => this.#run("list open streams", "open", node, after),
    drop: (log, notice) => this.#run(named("drop log", log), "drop", log, notice),
  };

  send(texts: readonly string[]): Promise<void> {
    return this.#run("send to all processes", "send", texts);
  }

  #run<N extends OperationName>(
    what: string,
    name: N,
    ...args: Parameters<Operations[N]>
  ): Promise<ReturnType<Operations[N]>> {
    const link = this.#link as Link<Connection>;
    return link.ask(what, isRead(name), (connection) => connection.run([name, args])) as Promise<
      ReturnType<Operations[N]>
    >;
  }

  async #open({ onText, onMissed, onShort }: StoreEvents, onClose: () => void, signal: AbortSignal) {
    const { start, file } = this.#options;
    const connection = new Connection({
      start,
      file,
      onNews: ({ texts, isMissed }) => {
        if (isMissed) onMissed();
        for (const text of texts) onText(text);
      },
      onShort,
      onClose,
    });
    this.#connection = connection;
    const unfollow = followSignal(signal, () => connection.close());
    try {
      await connection.opened;
    } finally {
      unfollow();
    }
    return connection;
  }
}

const named = (operation: string, name: string) => `${operation} ${JSON.stringify(name)}`;

/** Returns the error of an operation. One without an answer of the thread may have been carried out. */
function failureOf(error: unknown, what: string, isRead: boolean): ClusterError {
  const { message } = error as Error;
  if (error instanceof ClusterError) return new ClusterError(error.failure, `${what}: ${message}`, { cause: error });
  if (isRead) return new ClusterError("unavailable", `${what}: ${message}`, { cause: error });
  const remedy = "it may have been carried out; read the state before you repeat it";
  return new ClusterError("unknown_outcome", `${what}: ${message}; ${remedy}`, { cause: error });
}
