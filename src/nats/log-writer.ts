import { pause } from "../call/clock.js";
import type { Claimed } from "../cluster/engine/logs.js";
import { ClusterError } from "../cluster/error.js";
import { away } from "./failure.js";
import type { EntryMeta, FoundLog, Head, LogEntries } from "./log-entries.js";
import type { LogStreams, StreamMeta } from "./log-streams.js";

/** Number of attempts to store a message of a log that others write to at the same time. */
const MAX_ATTEMPTS = 200;

/** Maximum time between two of these attempts. */
const WAIT_MS = 10;

/** Maximum number of logs and writers that are remembered. What is forgotten is read again. */
const MAX_KNOWN = 10_000;

/** Minimum number and size of entries between two trims of a log. */
const MIN_TRIM = 16;
const MIN_TRIM_BYTES = 65_536;

/** Log as this process knows it. Another object replaces it when other processes have written to the log. */
interface KnownLog {
  readonly log: FoundLog;
  head: Head;
}

/** Claim of this process. */
interface KnownWriter {
  /** Log as it was when the claim was last found valid. */
  log: KnownLog | undefined;
  /** `seq` of the next entry. */
  next: number;
  /** Number of the last entry of the stream. */
  before: number;
  isEnded: boolean;
  /** True if the document of the stream tells its end. */
  isMarked: boolean;
  /** Last message of the log before an append with an unknown outcome. That append is the next one, or was refused. */
  doubt: Head | undefined;
}

/**
 * Claims and appends. A claim replaces the token in the document of the stream, and then stores a message in the log. An
 * append is stored only if the last message of the log is the one that its writer knows. So an earlier writer fails
 * after a claim, finds the other token, and is fenced.
 */
export class LogWriter {
  readonly #entries: LogEntries;
  readonly #streams: LogStreams;
  readonly #node: string;
  readonly #logs = new Map<string, KnownLog>();
  readonly #writers = new Map<string, KnownWriter>();
  /** Ends of the last appends to each log. Appends of this process do not compete with each other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(entries: LogEntries, streams: LogStreams, node: string) {
    this.#entries = entries;
    this.#streams = streams;
    this.#node = node;
  }

  async claim(log: string, stream: string): Promise<string | undefined> {
    const what = "claim a stream";
    const [entries, streams] = [this.#entries, this.#streams];
    const found = await entries.log(what, log);
    if (found === undefined) return undefined;
    const { id, maxStreams } = found;
    const claim = crypto.randomUUID();
    const isNew = (await streams.get(what, id, stream)) === undefined;
    let before: StreamMeta | undefined;
    const stored = await this.#insist(what, async (attempt) => {
      const { seq, n, bytes } = await entries.head(what, id);
      // This stream is counted from the second attempt on.
      if (isNew && (await streams.count(found)) >= maxStreams + Math.min(attempt, 1)) return "full" as const;
      if (attempt === 0) before = await streams.claim(id, stream, { log, node: this.#node, claim });
      const meta: EntryMeta = { kind: "claim", stream, claim, n, bytes, keep: found.keepMs };
      const claimedAt = await entries.engine.store(what, entries.engine.names.entriesOf(id), meta, "", seq);
      return claimedAt === undefined ? undefined : { seq: claimedAt, n, bytes };
    });
    if (stored === "full") {
      await streams.remove(id, stream, claim);
      return `full:${maxStreams}`;
    }
    // A drop that was faster does not find this claim.
    if ((await entries.log(what, log))?.id !== id) {
      await streams.remove(id, stream, claim);
      await entries.engine.purge(what, entries.engine.names.entries, entries.engine.names.entriesOf(id));
      return undefined;
    }
    const known = { log: found, head: stored };
    const writer = before === undefined ? newWriter() : await this.#takeOver(known, stream, claim, before);
    remember(this.#writers, claim, { ...writer, log: known });
    this.#inTurn(id, async () => remember(this.#logs, id, known));
    return `${id}:${claim}`;
  }

  append(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string> {
    return this.#inTurn(claimed.id, () =>
      this.#insist("append to a stream", () => this.#attempt(claimed, seq, data, last)),
    );
  }

  /** Appends an entry. Resolves with undefined if another process has written to the log before. */
  async #attempt(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string | undefined> {
    const known = this.#logs.get(claimed.id) ?? (await this.#load(claimed));
    if (known === undefined) return "dropped";
    const writer = await this.#validate(claimed, known);
    if (writer === undefined) return "fenced";
    if (seq < writer.next) return this.#repeat(claimed, known, writer, seq, data, last);
    if (seq > writer.next) return `order:${writer.next}`;
    if (writer.isEnded) return "ended";
    const stored = await this.#store(claimed, known, writer, data, last);
    if (stored === undefined) {
      this.#logs.delete(claimed.id);
      return undefined;
    }
    if (last) await this.#mark(claimed, known, writer);
    return String(stored);
  }

  async #store({ id, stream, claim }: Claimed, known: KnownLog, writer: KnownWriter, data: string, last: boolean) {
    const { engine } = this.#entries;
    const { log, head } = known;
    const size = new TextEncoder().encode(data).length;
    const [n, bytes] = [head.n + 1, head.bytes + size];
    const values = { n, bytes, size, seq: writer.next, before: writer.before, ...(last ? { last } : {}) };
    const meta: EntryMeta = { kind: "entry", stream, claim, keep: log.keepMs, ...values };
    let seq: number | undefined;
    try {
      seq = await engine.store("append to a stream", engine.names.entriesOf(id), meta, data, head.seq);
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "unknown_outcome") {
        writer.doubt = head;
        this.#logs.delete(id);
      }
      throw error;
    }
    if (seq === undefined) return undefined;
    known.head = { seq, n, bytes };
    advance(writer, seq, last);
    if (isTrimDue(log, head, known.head)) this.#entries.trim(id, log).catch(() => {});
    return seq;
  }

  /** Reads a log and its last message. A log that exists has a message, since its streams are claimed. */
  async #load({ log, id }: Claimed): Promise<KnownLog | undefined> {
    const what = "append to a stream";
    const found = await this.#entries.log(what, log);
    if (found?.id !== id) return undefined;
    const head = await this.#entries.head(what, id);
    if (head.seq === 0) return undefined;
    const known = { log: found, head };
    remember(this.#logs, id, known);
    return known;
  }

  /**
   * Returns the state of a writer whose claim is valid. The last message of the log was read before. So a later claim
   * comes after that message, and lets the append fail.
   */
  async #validate({ id, stream, claim }: Claimed, known: KnownLog): Promise<KnownWriter | undefined> {
    let writer = this.#writers.get(claim);
    if (writer?.log === known) return writer;
    const found = await this.#streams.get("append to a stream", id, stream);
    if (found?.claim !== claim) return undefined;
    if (writer === undefined) {
      writer = await this.#takeOver(known, stream, claim, found);
      remember(this.#writers, claim, writer);
    } else if (writer.doubt !== undefined) await this.#settle(id, claim, writer, writer.doubt);
    writer.log = known;
    return writer;
  }

  /** Finds out if the append in doubt was carried out. */
  async #settle(id: string, claim: string, writer: KnownWriter, doubt: Head): Promise<void> {
    const next = await this.#entries.next("append to a stream", id, doubt.seq);
    if (next === undefined) return;
    const { kind, claim: by, seq, n, last = false } = next.meta;
    writer.doubt = undefined;
    if (kind === "entry" && by === claim && seq === writer.next) advance(writer, next.seq, last);
    // The message after the last known one is deleted, so that the entry, if it was stored, is not kept any more.
    else if (n > doubt.n + 1) writer.next++;
  }

  /** Reads the entries of a stream that was claimed before. */
  async #takeOver({ log, head }: KnownLog, stream: string, claim: string, before: StreamMeta): Promise<KnownWriter> {
    const what = "claim a stream";
    const writer = newWriter();
    let first: EntryMeta | undefined;
    for await (const { seq, meta } of this.#entries.between(what, log.id, 0, head.seq)) {
      if (first === undefined && meta.n > 1) writer.before = seq - 1;
      first ??= meta;
      if (meta.kind !== "entry" || meta.stream !== stream) continue;
      writer.before = seq;
      writer.isEnded ||= meta.last === true;
      if (meta.claim === claim) writer.next = Number(meta.seq) + 1;
    }
    const { end } = before;
    const isEndKept = end !== undefined && (await this.#streams.isEndKept(log, head, stream, before));
    // A stream whose end is evicted begins anew.
    if (end !== undefined && !isEndKept) {
      writer.isEnded = false;
      await this.#streams.markEnd(log.id, stream, claim, undefined, log.keepMs);
    } else if (writer.isEnded) await this.#streams.markEnd(log.id, stream, claim, end ?? writer.before, log.keepMs);
    writer.isMarked = writer.isEnded;
    return writer;
  }

  /** Returns the number of the entry of a repeated `seq`, or the verdict on it. */
  async #repeat(claimed: Claimed, known: KnownLog, writer: KnownWriter, seq: number, data: string, last: boolean) {
    const what = "append to a stream";
    const { id, claim } = claimed;
    for (let at = writer.before; at > 0; ) {
      const entry = await this.#entries.at(what, id, at);
      if (entry?.meta.claim !== claim) break;
      if (entry.meta.seq === seq) {
        const head = await this.#entries.head(what, id);
        if (!this.#entries.isKept(entry, head, known.log)) break;
        if (entry.text !== data || (entry.meta.last ?? false) !== last) return `different:${writer.next}`;
        if (last && !writer.isMarked) await this.#mark(claimed, known, writer);
        return String(at);
      }
      at = entry.meta.before ?? 0;
    }
    return "missed";
  }

  /** Stores the end of a stream in its document. A repeated append does so if this fails. */
  async #mark({ id, stream, claim }: Claimed, { log }: KnownLog, writer: KnownWriter): Promise<void> {
    try {
      await this.#streams.markEnd(id, stream, claim, writer.before, log.keepMs);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ClusterError("unknown_outcome", `the last entry was stored, but not the end of its stream: ${reason}`, {
        cause: error,
      });
    }
    writer.isMarked = true;
  }

  /** Repeats work until it gives a result. */
  async #insist<T>(what: string, work: (attempt: number) => Promise<T | undefined>): Promise<T> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const result = await work(attempt);
      if (result !== undefined) return result;
      await pause(this.#entries.engine.clock, Math.random() * Math.min(attempt, WAIT_MS));
    }
    throw away(`${what}: other processes wrote to the log during ${MAX_ATTEMPTS} attempts; repeat it later`);
  }

  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(id) ?? Promise.resolve()).then(work);
    const turn = done
      .catch(() => {})
      .then(() => {
        if (this.#turns.get(id) === turn) this.#turns.delete(id);
      });
    this.#turns.set(id, turn);
    return done;
  }
}

function newWriter(): KnownWriter {
  return { log: undefined, next: 0, before: 0, isEnded: false, isMarked: false, doubt: undefined };
}

function advance(writer: KnownWriter, seq: number, last: boolean): void {
  writer.next++;
  writer.before = seq;
  writer.isEnded = last;
  writer.doubt = undefined;
}

/** True for some of the entries, so that a log is never much larger than its limits. */
function isTrimDue({ maxEntries, maxBytes }: FoundLog, before: Head, { n, bytes }: Head): boolean {
  const size = Math.max(MIN_TRIM_BYTES, maxBytes / 2);
  if (Math.floor(bytes / size) > Math.floor(before.bytes / size)) return true;
  return n > maxEntries && n % Math.max(MIN_TRIM, Math.floor(maxEntries / 2)) === 0;
}

/** Adds an item to a map of the last items. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KNOWN) map.delete(oldest as string);
}
