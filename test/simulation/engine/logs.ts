import type { LogEntry, LogOptions, Logs, Writer } from "#src/cluster/cluster.js";
import { ClusterError } from "#src/cluster/error.js";
import type { MemoryLogs } from "#src/cluster/memory/logs.js";
import type { SimProcess } from "../process.js";
import type { Connection } from "./connection.js";
import type { EngineState } from "./state.js";
import { Bell, type Bells } from "./wakes.js";

interface Page {
  readonly verdict: "more" | "over" | "missed";
  readonly entries: readonly LogEntry[];
  /** Number of the entry that comes next. */
  readonly next: number;
}

/** Logs of one node, over the state in memory. */
export class SimLogs implements Logs {
  readonly #engine: EngineState;
  readonly #followed: Bells;
  readonly #process: SimProcess;
  readonly #connection: Connection;
  readonly #inner: MemoryLogs;
  readonly #bells = new Set<Bell>();

  constructor(engine: EngineState, followed: Bells, process: SimProcess, connection: Connection, inner: MemoryLogs) {
    this.#engine = engine;
    this.#followed = followed;
    this.#process = process;
    this.#connection = connection;
    this.#inner = inner;
  }

  create(log: string, options: LogOptions): Promise<void> {
    return this.#connection.operate(`create ${log}`, false, () => this.#inner.create(log, options));
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const claim = () => this.#inner.claim(log, stream);
    const writer = await this.#connection.operate(`claim ${log} ${stream}`, false, claim);
    const isFenced = this.#engine.broken !== "fence";
    const stored = isFenced ? writer : new UnfencedWriter(writer, claim);
    return new SimWriter(this.#connection, stored, `${log} ${stream}`, this.#engine.broken === "end", () =>
      this.#followed.ring(log),
    );
  }

  find(log: string, id: string): Promise<string | undefined> {
    return this.#connection.operate(`find ${log} ${id}`, true, () => this.#inner.find(log, id));
  }

  readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    const read = () => this.#inner.readAfter(log, stream, id);
    return this.#connection.operate(`read ${log} ${stream} ${id ?? ""}`, true, read);
  }

  async *follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    const bell = new Bell();
    const wake = () => bell.ring();
    signal.addEventListener("abort", wake);
    this.#bells.add(bell);
    const isOver = () => signal.aborted || this.#connection.isClosed;
    try {
      this.#followed.add(log, bell, () => this.#process.enter(wake));
      yield* this.#pages(log, stream, after, bell, isOver);
      if (!signal.aborted && this.#connection.isClosed) throw new ClusterError("unavailable", "the cluster is closed");
    } finally {
      signal.removeEventListener("abort", wake);
      this.#bells.delete(bell);
      this.#followed.remove(log, bell);
    }
  }

  async *openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }> {
    const list = () => this.#engine.tables.logs.openOf(node).map(({ log, name }) => ({ log: log.name, stream: name }));
    yield* await this.#connection.operate(`open streams of ${node}`, true, list);
  }

  drop(log: string): Promise<void> {
    const drop = () => {
      if (this.#engine.broken === "drop") return;
      this.#inner.drop(log);
      this.#followed.ring(log);
    };
    return this.#connection.operate(`drop ${log}`, false, drop);
  }

  /** Wakes the followers, since the connection has changed. */
  wake(): void {
    if (this.#engine.broken === "wake" && !this.#connection.isClosed) return;
    for (const bell of this.#bells) bell.ring();
  }

  async *#pages(
    log: string,
    stream: string,
    after: string | undefined,
    bell: Bell,
    isOver: () => boolean,
  ): AsyncIterable<LogEntry> {
    for (let next: number | undefined; !isOver(); ) {
      const page = await this.#tryRead(log, stream, after, next);
      if (isOver()) return;
      if (page?.verdict === "missed") throw missed(log, stream);
      for (const entry of page?.entries ?? []) {
        if (isOver()) return;
        yield entry;
        if (entry.last) return;
      }
      if (page?.verdict === "over") return;
      next = page?.next ?? next;
      await bell.wait();
    }
  }

  /** Reads the entries of a stream from a place. Returns undefined while the engine is away. */
  async #tryRead(log: string, stream: string, after: string | undefined, next: number | undefined) {
    try {
      const read = () => this.#read(log, stream, after, next);
      return await this.#connection.operate(`follow ${log} ${stream} ${after ?? ""}`, true, read);
    } catch (error) {
      // The connection may be up again, or a reply was lost.
      if (this.#connection.isUp) this.#engine.scheduler.schedule(() => this.#process.enter(() => this.wake()), 50);
      if (error instanceof ClusterError && error.failure === "unavailable") return undefined;
      throw error;
    }
  }

  #read(log: string, stream: string, after: string | undefined, next: number | undefined): Page {
    const { logs, expiries } = this.#engine.tables.logs;
    expiries.catchUp();
    const found = logs.get(log);
    if (found === undefined) return { verdict: "over", entries: [], next: 0 };
    const place = after === undefined ? undefined : found.find(after);
    if (next === undefined && after !== undefined && place?.stream.name !== stream)
      return { verdict: "missed", entries: [], next: 0 };
    const { entries, isEnded = false } = found.streams.get(stream) ?? {};
    const from = next ?? (place === undefined ? (entries?.first ?? 0) : place.number + 1);
    // A stream that is forgotten has ended, and its end was not read.
    if (entries === undefined) return { verdict: from === 0 ? "more" : "missed", entries: [], next: from };
    if (from < entries.first) return { verdict: "missed", entries: [], next: from };
    const rest = entries.from(from).map(({ id, data, last }) => ({ id, data, last }));
    return { verdict: isEnded ? "over" : "more", entries: rest, next: entries.end };
  }
}

/** Writer whose appends reach the engine in their order. */
class SimWriter implements Writer {
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    readonly connection: Connection,
    readonly inner: Writer,
    readonly name: string,
    readonly losesEnds: boolean,
    readonly onAppended: () => void,
  ) {}

  append(seq: number, data: string, options?: { readonly last?: boolean }): Promise<string> {
    const name = `append ${this.name} ${seq} ${options?.last === true ? "last " : ""}${data}`;
    const append = () => {
      const id = this.inner.append(seq, data, this.losesEnds ? undefined : options) as string;
      this.onAppended();
      return id;
    };
    const appended = this.#turn.then(() => this.connection.operate(name, false, append));
    this.#turn = appended.catch(() => {});
    return appended;
  }
}

/** Writer that a newer claim does not stop: it claims the stream again. */
class UnfencedWriter implements Writer {
  readonly #claim: () => Writer;
  readonly #ids: string[] = [];
  #inner: Writer;
  #seq = 0;

  constructor(inner: Writer, claim: () => Writer) {
    this.#inner = inner;
    this.#claim = claim;
  }

  append(seq: number, data: string, options?: { readonly last?: boolean }): string {
    const known = this.#ids[seq];
    if (known !== undefined) return known;
    let id: string;
    try {
      id = this.#inner.append(this.#seq, data, options) as string;
    } catch (error) {
      if (!(error instanceof ClusterError && error.failure === "fenced")) throw error;
      this.#inner = this.#claim();
      this.#seq = 0;
      id = this.#inner.append(0, data, options) as string;
    }
    this.#seq++;
    this.#ids[seq] = id;
    return id;
  }
}

function missed(log: string, stream: string): ClusterError {
  return new ClusterError("missed", `entries of stream "${stream}" in log "${log}" are no longer kept`);
}
