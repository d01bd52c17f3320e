import type { LogEntry, LogOptions, Logs, Writer } from "../cluster/cluster.js";
import { ClusterError } from "../cluster/error.js";
import {
  buriedError,
  differentError,
  droppedError,
  endedError,
  fencedError,
  fullError,
  MAX_STREAMS,
  missedError,
  skippedError,
} from "../cluster/log-errors.js";
import { Bell } from "./bell.js";
import type { Channels } from "./channels.js";
import type { Engine } from "./engine.js";
import { away } from "./failure.js";
import { APPEND, CLAIM, CREATE, DROP, FIND, NOTE, NOTED, OPEN, READ, UNNOTE } from "./log-scripts.js";
import { durationOf, type Script } from "./scripts.js";

/** Number of entries, or of streams, of one reply. */
const PAGE = 100;
const ALL = 1_000_000_000;
/** Delay before a follower reads again after the engine was away. */
const RETRY_MS = 500;
/**
 * Age from which the note of a stream is removed if its node does not have the stream. A younger note may belong to a
 * claim that is on its way.
 */
const NOTE_MS = 60_000;
/** Maximum number of notes that are removed at once. */
const MAX_GONE = 1_000;

/** Result of a read. */
interface Page {
  readonly verdict: "ok" | "ended" | "dropped" | "missed";
  /** Id after which the next read begins. */
  readonly place: string;
  readonly isKnown: boolean;
  readonly entries: readonly LogEntry[];
}

export class RedisLogs implements Logs {
  static readonly scripts: readonly Script[] = [CREATE, CLAIM, APPEND, FIND, READ, OPEN, DROP, NOTE, UNNOTE, NOTED];
  readonly #engine: Engine;
  readonly #channels: Channels;

  constructor(engine: Engine, channels: Channels) {
    this.#engine = engine;
    this.#channels = channels;
  }

  async create(log: string, { keepMs, maxEntries, maxBytes, maxStreams = MAX_STREAMS }: LogOptions): Promise<void> {
    const name = this.#engine.token().replaceAll(/[^A-Za-z0-9.]/g, "");
    const bytes = Math.min(maxBytes, Number.MAX_SAFE_INTEGER);
    const limits = [durationOf(keepMs), Math.min(maxEntries, ALL), bytes, Math.min(maxStreams, ALL)];
    if ((await this.#engine.run(CREATE, this.#keys(log), [name, ...limits])) !== "ok") throw buriedError(log);
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const engine = this.#engine;
    const token = engine.token();
    const note = noteOf(log, stream);
    // The note is sent first, so that there is no claim without a note.
    const [, reply] = await Promise.all([
      engine.run(NOTE, [this.#listOf(engine.node)], [note]),
      engine.run(CLAIM, this.#keys(log), [stream, token, engine.node]),
    ]);
    const [verdict, detail = ""] = reply as readonly string[];
    if (verdict !== "ok") {
      this.#unnote(engine.node, [note], 0);
      throw verdict === "full" ? fullError(log, stream, detail) : droppedError(log);
    }
    return { append: (seq, data, options) => this.#append({ log, stream, token }, seq, data, options?.last === true) };
  }

  async find(log: string, id: string): Promise<string | undefined> {
    return ((await this.#engine.run(FIND, this.#keys(log), [id])) as string | null) ?? undefined;
  }

  async readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    const { verdict, entries } = await this.#read(log, stream, [id ?? "", 1, 0, ALL]);
    return verdict === "missed" || (verdict === "dropped" && id !== undefined) ? undefined : entries;
  }

  async *follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncGenerator<LogEntry> {
    const { clock, closing } = this.#engine;
    const bell = new Bell(clock, [signal, closing]);
    const listening = this.#channels.listen(this.#channelOf(log), (text) => {
      if (text === "-" || text === `+${stream}`) bell.ring();
    });
    const unfollow = this.#channels.onMissed(() => bell.ring());
    try {
      listening.ready.then(() => bell.ring());
      await bell.wait();
      yield* this.#pages(log, stream, after, bell);
      if (closing.aborted && !signal.aborted)
        throw away(`follow stream ${JSON.stringify(stream)} of log ${JSON.stringify(log)}: the cluster is closed`);
    } finally {
      unfollow();
      listening.stop();
      bell.end();
    }
  }

  async *openOf(node: string): AsyncGenerator<{ readonly log: string; readonly stream: string }> {
    const gone: string[] = [];
    for (let from = 0, isLast = false; !isLast; from += PAGE) {
      const notes = (await this.#engine.run(NOTED, [this.#listOf(node)], [from, from + PAGE - 1])) as readonly string[];
      isLast = notes.length < PAGE;
      for (const { note, log, stream, isOpen } of await Promise.all(notes.map((note) => this.#look(note, node)))) {
        if (isOpen) yield { log, stream };
        else gone.push(note);
      }
    }
    // After the listing, since it goes by ranks.
    if (gone.length > 0) this.#unnote(node, gone.slice(0, MAX_GONE), NOTE_MS);
  }

  async drop(log: string): Promise<void> {
    await this.#engine.run(DROP, this.#keys(log), [this.#channelOf(log)]);
  }

  async #append(
    { log, stream, token }: { readonly log: string; readonly stream: string; readonly token: string },
    seq: number,
    data: string,
    last: boolean,
  ): Promise<string> {
    const args = [stream, token, seq, data, last ? 1 : 0, this.#channelOf(log)];
    const [verdict, detail = ""] = (await this.#engine.run(APPEND, this.#keys(log), args)) as readonly string[];
    if (verdict !== "ok") throw refusalOf(verdict, log, stream, seq, detail);
    if (last) this.#unnote(this.#engine.node, [noteOf(log, stream)], 0);
    return detail;
  }

  /** Yields the entries of a stream until it ends. */
  async *#pages(log: string, stream: string, after: string | undefined, bell: Bell): AsyncGenerator<LogEntry> {
    let [place, isStrict, isKnown] = [after ?? "", true, false];
    while (!bell.isEnded) {
      const page = await this.#tryRead(log, stream, [place, isStrict ? 1 : 0, isKnown ? 1 : 0, PAGE]);
      if (page === undefined) {
        await bell.wait(RETRY_MS);
        continue;
      }
      if (page.verdict === "missed") throw missedError(log, stream);
      for (const entry of page.entries) {
        if (bell.isEnded) return;
        yield entry;
        if (entry.last) return;
      }
      if (page.verdict !== "ok") return;
      [place, isStrict, isKnown] = [page.place, false, page.isKnown];
      if (page.entries.length < PAGE) await bell.wait();
    }
  }

  /** Reads a page. Returns undefined while the engine is away. */
  async #tryRead(log: string, stream: string, args: readonly (string | number)[]): Promise<Page | undefined> {
    try {
      return await this.#read(log, stream, args);
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "unavailable") return undefined;
      throw error;
    }
  }

  async #read(log: string, stream: string, args: readonly (string | number)[]): Promise<Page> {
    const reply = (await this.#engine.run(READ, this.#keys(log), [stream, ...args])) as readonly string[];
    const [verdict = "", place = "", known, ...rest] = reply;
    const entries: LogEntry[] = [];
    for (let at = 0; at < rest.length; at += 3)
      entries.push({ id: rest[at] ?? "", data: rest[at + 1] ?? "", last: rest[at + 2] === "1" });
    return { verdict: verdict as Page["verdict"], place, isKnown: known === "1", entries };
  }

  /** Looks if a stream that a node has noted is its own and open. */
  async #look(note: string, node: string) {
    const [log = "", stream = ""] = JSON.parse(note) as string[];
    const isOpen = (await this.#engine.run(OPEN, this.#keys(log), [stream, node])) === 1;
    return { note, log, stream, isOpen };
  }

  /** Removes notes. A failure is harmless, since `openOf` looks at the streams. */
  #unnote(node: string, notes: readonly string[], olderMs: number): void {
    this.#engine.run(UNNOTE, [this.#listOf(node)], [olderMs, ...notes]).catch(() => {});
  }

  #keys(log: string): readonly string[] {
    return ["", "streams", "entries", "order"].map((part) => this.#engine.keys.key("log", log, part));
  }

  #listOf(node: string): string {
    return this.#engine.keys.key("open", node);
  }

  #channelOf(log: string): string {
    return this.#engine.keys.channel("log", log);
  }
}

const noteOf = (log: string, stream: string) => JSON.stringify([log, stream]);

function refusalOf(verdict: string | undefined, log: string, stream: string, seq: number, next: string): ClusterError {
  switch (verdict) {
    case "dropped":
      return droppedError(log);
    case "fenced":
      return fencedError(log, stream);
    case "missed":
      return missedError(log, stream);
    case "ended":
      return endedError(log, stream);
    case "different":
      return differentError(log, stream, seq, next);
    default:
      return skippedError(log, stream, seq, next);
  }
}
