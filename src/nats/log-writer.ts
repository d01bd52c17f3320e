import { pause } from "../call/abortable.js";
import type { Claimed } from "../cluster/engine/logs.js";
import { ClusterError } from "../cluster/error.js";
import { away } from "./failure.js";
import type { EntryMeta, FoundLog, Head, LogEntries } from "./log-entries.js";
import type { LogStreams, StreamMeta } from "./log-streams.js";

/** Number of attempts to store a message of a log that others write to at the same time. */
const MAX_ATTEMPTS = 200;

/** Maximum time between two of these attempts. */
const WAIT_MS = 2;

/** Number of attempts after which the others are asked to wait, and the time for which they do. */
const ASK_EVERY = 2;
const HOLD_MS = 20;

/** Maximum number of logs and writers that are remembered. The others are read again. */
const MAX_KNOWN = 10_000;

/** Minimum number and size of entries between two trims of a log. */
const MIN_TRIM = 16;
const MIN_TRIM_BYTES = 65_536;

/** Log as this process knows it. Its last message is unknown after another process has written to it. */
interface KnownLog {
  readonly log: FoundLog;
  head: Head | undefined;
}

interface LoadedLog extends KnownLog {
  head: Head;
}

/** Claim of this process. */
interface KnownWriter {
  /** Number of claims of the log when this one was last found valid. */
  claims: number;
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

  /** Times until which appends to a log wait. */
  readonly #holds = new Map<string, number>();
  readonly #askToHold: (id: string) => void;

  /** @param askToHold Asks other processes to call `hold` for a log. */
  constructor(entries: LogEntries, streams: LogStreams, node: string, askToHold: (id: string) => void) {
    this.#entries = entries;
    this.#streams = streams;
    this.#node = node;
    this.#askToHold = askToHold;
  }

  async claim(log: string, stream: string): Promise<string | undefined> {
    const what = "claim a stream";
    const [entries, streams] = [this.#entries, this.#streams];
    const found = await entries.log(what, log);
    if (found === undefined) return undefined;
    const { id, maxStreams } = found;
    const claim = crypto.randomUUID();
    const before = await streams.claim(id, stream, { log, node: this.#node, claim });
    const head = await this.#insist(what, id, () => this.#storeClaim(found, stream, claim));
    const isNew = before === undefined;
    // A drop that was faster does not find this claim.
    const [again, count] = await Promise.all([entries.log(what, log), isNew ? streams.count(found) : 0]);
    const isDropped = again?.id !== id;
    if (isDropped || count > maxStreams) {
      await streams.remove(id, stream, claim);
      if (!isDropped) return `full:${maxStreams}`;
      await entries.engine.purge(what, entries.engine.names.entries, entries.engine.names.entriesOf(id));
      return undefined;
    }
    const known = { log: found, head };
    const writer = isNew ? newWriter() : await this.#takeOver(known, stream, claim, before);
    remember(this.#writers, claim, { ...writer, claims: head.claims });
    return `${id}:${claim}`;
  }

  /** Stores the message of a claim. Resolves with undefined if another process has written to the log before. */
  async #storeClaim({ id, keepMs }: FoundLog, stream: string, claim: string): Promise<Head | undefined> {
    const what = "claim a stream";
    const { engine } = this.#entries;
    const head = await this.#entries.head(what, id);
    const { n, bytes, claims } = { ...head, claims: head.claims + 1 };
    const meta: EntryMeta = { kind: "claim", stream, claim, n, bytes, claims, keep: keepMs };
    const seq = await engine.store(what, engine.names.entriesOf(id), meta, "", head.seq);
    return seq === undefined ? undefined : { seq, n, bytes, claims };
  }

  /** Lets the appends of this process to a log wait for a moment, so that another process can write to it. */
  hold(id: string): void {
    if (this.#logs.has(id)) remember(this.#holds, id, this.#entries.engine.clock.now() + HOLD_MS);
  }

  append(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string> {
    return this.#inTurn(claimed.id, async () => {
      const until = this.#holds.get(claimed.id);
      if (until !== undefined) await this.#pass(claimed.id, until);
      return this.#insist("append to a stream", claimed.id, () => this.#attempt(claimed, seq, data, last));
    });
  }

  /** Appends an entry. Resolves with undefined if another process has written to the log before. */
  async #attempt(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string | undefined> {
    const known = await this.#load(claimed);
    if (known === undefined) return "dropped";
    const writer = await this.#validate(claimed, known);
    if (writer === undefined) return "fenced";
    if (seq < writer.next) return this.#repeat(claimed, known, writer, seq, data, last);
    if (seq > writer.next) return `order:${writer.next}`;
    if (writer.isEnded) return "ended";
    const stored = await this.#store(claimed, known, writer, data, last);
    if (stored === undefined) return undefined;
    if (last) await this.#mark(claimed, known, writer);
    return String(stored);
  }

  async #store({ id, stream, claim }: Claimed, known: LoadedLog, writer: KnownWriter, data: string, last: boolean) {
    const { engine } = this.#entries;
    const { log, head } = known;
    const size = new TextEncoder().encode(data).length;
    const [n, bytes] = [head.n + 1, head.bytes + size];
    const { claims } = head;
    const values = { n, bytes, claims, size, seq: writer.next, before: writer.before, ...(last ? { last } : {}) };
    const meta: EntryMeta = { kind: "entry", stream, claim, keep: log.keepMs, ...values };
    let seq: number | undefined;
    this.#forgetHead(id);
    try {
      seq = await engine.store("append to a stream", engine.names.entriesOf(id), meta, data, head.seq);
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "unknown_outcome") writer.doubt = head;
      throw error;
    }
    if (seq === undefined) return undefined;
    const next = { seq, n, bytes, claims };
    known.head = next;
    advance(writer, seq, last);
    if (isTrimDue(log, head, next)) this.#entries.trim(id, log).catch(() => {});
    return seq;
  }

  /** Reads a log and its last message, unless they are known. A log with a claim has a message until it is dropped. */
  async #load({ log, id }: Claimed): Promise<LoadedLog | undefined> {
    const what = "append to a stream";
    let known = this.#logs.get(id);
    if (known === undefined) {
      const found = await this.#entries.log(what, log);
      if (found?.id !== id) return undefined;
      known = { log: found, head: undefined };
      remember(this.#logs, id, known);
    }
    known.head ??= await this.#entries.head(what, id);
    if (known.head.seq > 0) return known as LoadedLog;
    this.#logs.delete(id);
    return undefined;
  }

  /**
   * Returns the state of a writer whose claim is valid. The last message of the log was read before. So a later claim
   * comes after that message, and lets the append fail.
   */
  async #validate({ id, stream, claim }: Claimed, known: LoadedLog): Promise<KnownWriter | undefined> {
    let writer = this.#writers.get(claim);
    if (writer?.claims !== known.head.claims) {
      const found = await this.#streams.get("append to a stream", id, stream);
      if (found?.claim !== claim) return undefined;
      writer ??= await this.#takeOver(known, stream, claim, found);
      writer.claims = known.head.claims;
      remember(this.#writers, claim, writer);
    }
    if (writer.doubt !== undefined) await this.#settle(id, claim, writer, writer.doubt);
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
  async #takeOver({ log, head }: LoadedLog, stream: string, claim: string, before: StreamMeta): Promise<KnownWriter> {
    const what = "claim a stream";
    const writer = newWriter();
    let isFirst = true;
    for await (const { seq, meta } of this.#entries.between(what, log.id, 0, head.seq)) {
      const earlier = meta.kind === "entry" ? meta.n - 1 : meta.n;
      // Entries of the stream may be among those that are deleted.
      if (isFirst && earlier > 0) writer.before = seq - 1;
      isFirst = false;
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
  async #repeat(claimed: Claimed, known: LoadedLog, writer: KnownWriter, seq: number, data: string, last: boolean) {
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

  /** The last message of a log is not known until its store is acknowledged. */
  #forgetHead(id: string): void {
    const known = this.#logs.get(id);
    if (known !== undefined) known.head = undefined;
  }

  async #pass(id: string, until: number): Promise<void> {
    const { clock } = this.#entries.engine;
    this.#holds.delete(id);
    await pause(clock, until - clock.now());
    // Another process may have written to the log.
    this.#forgetHead(id);
  }

  /** Repeats work until it gives a result. Other processes that write to the log wait for it now and then. */
  async #insist<T>(what: string, id: string, work: () => Promise<T | undefined>): Promise<T> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const result = await work();
      if (result !== undefined) return result;
      if (attempt % ASK_EVERY === 0) this.#askToHold(id);
      await pause(this.#entries.engine.clock, Math.random() * WAIT_MS);
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
  return { claims: 0, next: 0, before: 0, isEnded: false, isMarked: false, doubt: undefined };
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
