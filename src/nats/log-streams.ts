import type { Document, DocumentMeta, Documents } from "./documents.js";
import type { EntryMessage, FoundLog, Head, LogEntries } from "./log-entries.js";
import type { Mirror } from "./mirror.js";
import { lastName } from "./names.js";
import { inPages } from "./pages.js";

/** Values of the document of a stream. */
export interface StreamMeta extends DocumentMeta {
  readonly log: string;
  readonly node: string;
  /** Token of the last claim. */
  readonly claim: string;
  /** Number of the entry that ended the stream. */
  readonly end?: number;
}

/** Indexes of streams: those of a log, and the open ones of a node. */
const ofLog = (id: string) => `log ${id}`;
export const ofNode = (node: string) => `open ${node}`;

/** Documents of streams. A stream that has ended is in its document until no entry of it can be kept any more. */
export class LogStreams {
  readonly #documents: Documents;
  readonly #mirror: Mirror;
  readonly #entries: LogEntries;

  constructor(documents: Documents, mirror: Mirror, entries: LogEntries) {
    this.#documents = documents;
    this.#mirror = mirror;
    this.#entries = entries;
  }

  subject(id: string, stream: string): string {
    return this.#documents.engine.names.listedSubject("stream", id, stream);
  }

  async get(what: string, id: string, stream: string): Promise<StreamMeta | undefined> {
    const found = await this.#documents.get(what, this.subject(id, stream));
    return found?.meta as StreamMeta | undefined;
  }

  /** Stores a claim. Resolves with the values that the stream had before. */
  claim(id: string, stream: string, meta: Pick<StreamMeta, "log" | "node" | "claim">): Promise<StreamMeta | undefined> {
    return this.#documents.change("claim a stream", this.subject(id, stream), (found) => {
      const before = found?.meta as StreamMeta | undefined;
      const end = before?.end === undefined ? {} : { end: before.end, ttl: before.ttl };
      const index = [ofLog(id), ...(before?.end === undefined ? [ofNode(meta.node)] : [])].map(
        (name) => [name, 0] as const,
      );
      return { meta: { ...meta, ...end, index }, result: () => before };
    });
  }

  /** Stores that a stream has ended, if the claim has it. */
  markEnd(id: string, stream: string, claim: string, end: number | undefined, keepMs: number): Promise<boolean> {
    return this.#documents.change("end a stream", this.subject(id, stream), (found) => {
      const before = found?.meta as StreamMeta | undefined;
      if (before?.claim !== claim) return { result: () => false };
      const { end: _, ttl: __, ...rest } = before;
      const names = end === undefined ? [ofLog(id), ofNode(before.node)] : [ofLog(id)];
      const index = names.map((name) => [name, 0] as const);
      const meta = { ...rest, index, ...(end === undefined ? {} : { end, ttl: keepMs }) };
      return { meta, result: () => true };
    });
  }

  remove(id: string, stream: string, claim?: string): Promise<boolean> {
    const fits = ({ meta }: Document) => claim === undefined || meta.claim === claim;
    return this.#documents.remove("forget a stream", this.subject(id, stream), fits);
  }

  /** Removes the streams of a log. */
  async removeAll(id: string): Promise<void> {
    await inPages(await this.all(ofLog(id)), ({ stream }) => this.remove(id, stream));
  }

  /** Number of the streams of a log. Above the limit, those whose entries are evicted are forgotten before. */
  async count(log: FoundLog): Promise<number> {
    const index = ofLog(log.id);
    const count = await this.#mirror.count(index);
    if (count <= log.maxStreams) return count;
    const head = await this.#entries.head("claim a stream", log.id);
    await inPages(await this.all(index), async ({ stream, meta }) => {
      if (meta.end !== undefined && !(await this.isEndKept(log, head, stream, meta)))
        await this.remove(log.id, stream, meta.claim);
    });
    return this.#mirror.count(index);
  }

  /** True if the entry that ended a stream is kept. */
  async isEndKept(log: FoundLog, head: Head, stream: string, { end = 0 }: StreamMeta): Promise<boolean> {
    const entry = await this.#entries.at("read a stream", log.id, end);
    return isEntryOf(entry, stream) && this.#entries.isKept(entry, head, log);
  }

  /** Reads the streams of an index. */
  async all(index: string): Promise<{ id: string; stream: string; meta: StreamMeta }[]> {
    const places = await this.#mirror.list(index, undefined, Number.POSITIVE_INFINITY);
    const found = await inPages(places, async ({ subject, key: stream }) => {
      const document = await this.#documents.get("list streams", subject);
      const isListed = document?.meta.index?.some(([name]) => name === index) === true;
      return isListed ? { id: idOf(subject), stream, meta: document.meta as StreamMeta } : undefined;
    });
    return found.filter((stream) => stream !== undefined);
  }
}

export function isEntryOf(message: EntryMessage | undefined, stream: string): message is EntryMessage {
  return message?.meta.kind === "entry" && message.meta.stream === stream;
}

/** Returns the number of the log of a stream. */
function idOf(subject: string): string {
  return lastName(subject.slice(0, subject.lastIndexOf(".")));
}
