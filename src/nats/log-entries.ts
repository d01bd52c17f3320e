import type { Documents } from "./documents.js";
import type { Engine, Meta, StoredMessage } from "./engine.js";
import { readPages } from "./pages.js";

/** Limits of a log, as its document has them. */
export interface LogLimits {
  readonly keepMs: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly maxStreams: number;
}

/** Log that exists. Its number is that of the message with its document. */
export interface FoundLog extends LogLimits {
  readonly id: string;
}

/**
 * Values of a message of a log: an entry, or a claim. All messages of a log have one subject, and each is stored only
 * after the one that its writer knew as the last. So they are in one order, and the sums are exact.
 */
export interface EntryMeta extends Meta {
  readonly kind: "claim" | "entry";
  readonly stream: string;
  readonly claim: string;
  /** Number of entries of the log up to this message. */
  readonly n: number;
  /** Size of the entries of the log up to this message. */
  readonly bytes: number;
  /** Number of claims of the log up to this message. A writer need not look for others while it does not change. */
  readonly claims: number;
  /** Time for which an entry is kept. */
  readonly keep: number;
  /** Size of the entry. */
  readonly size?: number;
  readonly seq?: number;
  readonly last?: boolean;
  /** Number of the entry of the stream before this one. It may be too high after a claim, and is never too low. */
  readonly before?: number;
}

export interface EntryMessage extends StoredMessage {
  readonly meta: EntryMeta;
}

/** Last message of a log, which tells how many entries came before. */
export interface Head {
  readonly seq: number;
  readonly n: number;
  readonly bytes: number;
  readonly claims: number;
}

const NO_HEAD: Head = { seq: 0, n: 0, bytes: 0, claims: 0 };

/** Number of messages that are read one by one, before further ones are read together. */
const FEW = 4;

/** Number of further messages that are read together. */
const PAGE = 200;

/** Reads the messages of logs. */
export class LogEntries {
  readonly engine: Engine;
  readonly #documents: Documents;

  constructor(documents: Documents) {
    this.engine = documents.engine;
    this.#documents = documents;
  }

  /** Reads a log. Resolves with undefined if it does not exist or was dropped. */
  async log(what: string, log: string): Promise<FoundLog | undefined> {
    const found = await this.#documents.get(what, this.engine.names.plainSubject("log", log));
    if (found === undefined || found.meta.dropped === true) return undefined;
    return { ...(found.meta as unknown as LogLimits), id: String(found.seq) };
  }

  async head(what: string, id: string): Promise<Head> {
    const last = await this.#read(what, { last_by_subj: this.engine.names.entriesOf(id) });
    return last === undefined ? NO_HEAD : headOf(last);
  }

  /** Reads the message with a number, if it is of this log. */
  async at(what: string, id: string, seq: number): Promise<EntryMessage | undefined> {
    const found = seq > 0 ? await this.#read(what, { seq }) : undefined;
    return found?.subject === this.engine.names.entriesOf(id) ? found : undefined;
  }

  /** Yields the messages of a log with higher numbers than `after`, up to the number `to`. */
  async *between(what: string, id: string, after: number, to: number): AsyncIterable<EntryMessage> {
    const { names } = this.engine;
    let seq = after;
    for (let count = 0; count < FEW && seq < to; count++) {
      const found = await this.next(what, id, seq);
      if (found === undefined || found.seq > to) return;
      yield found;
      seq = found.seq;
    }
    if (seq >= to) return;
    const reading = { stream: names.entries, filter: names.entriesOf(id), from: seq + 1, size: PAGE };
    for await (const page of readPages(this.engine, what, reading))
      for (const message of page as readonly EntryMessage[]) {
        if (message.seq > to) return;
        yield message;
        if (message.seq === to) return;
      }
  }

  /** Reads the first message of a log with a higher number than `after`. */
  next(what: string, id: string, after: number): Promise<EntryMessage | undefined> {
    return this.#read(what, { seq: after + 1, next_by_subj: this.engine.names.entriesOf(id) });
  }

  /** True if the entry is within the limits of its log. Entries beyond them are deleted later. */
  isKept({ meta, time }: EntryMessage, head: Head, limits: LogLimits): boolean {
    if (time + limits.keepMs <= this.engine.time.now()) return false;
    if (meta.n === head.n) return true;
    const bytes = head.bytes - meta.bytes + Number(meta.size);
    return head.n - meta.n < limits.maxEntries && bytes <= limits.maxBytes;
  }

  /** Deletes the messages that are older than the entries that are kept. The last message stays. */
  async trim(id: string, limits: LogLimits): Promise<void> {
    const what = "trim a log";
    const head = await this.head(what, id);
    let below = head.seq;
    for await (const message of this.between(what, id, 0, head.seq)) {
      if (message.meta.kind === "claim" || !this.isKept(message, head, limits)) continue;
      below = message.seq;
      break;
    }
    const { names } = this.engine;
    await this.engine.purge(what, names.entries, names.entriesOf(id), below);
  }

  async #read(what: string, wanted: Parameters<Engine["read"]>[2]): Promise<EntryMessage | undefined> {
    return (await this.engine.read(what, this.engine.names.entries, wanted)) as EntryMessage | undefined;
  }
}

function headOf({ seq, meta: { n, bytes, claims } }: EntryMessage): Head {
  return { seq, n, bytes, claims };
}
