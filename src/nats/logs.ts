import { Followers } from "../cluster/engine/followers.js";
import { EngineLogs, type LogOperations, OPEN_PAGE, type OpenStream } from "../cluster/engine/logs.js";
import { idOf, type ReadStream } from "../cluster/engine/stream-page.js";
import type { Documents } from "./documents.js";
import { type EntryMessage, LogEntries } from "./log-entries.js";
import { isEntryOf, LogStreams, ofNode } from "./log-streams.js";
import { LogWriter } from "./log-writer.js";
import type { Mirror } from "./mirror.js";

export interface NatsLogsOptions {
  readonly documents: Documents;
  readonly mirror: Mirror;
  readonly node: string;
  /** Fires when the cluster closes. */
  readonly closed: AbortSignal;
  /** Tells other processes that a log has changed. */
  changed(log: string): void;
  /** Asks other processes to let this one write to a log. */
  askToHold(log: string): void;
}

/** Logs: a document for each log and each stream, and one subject for all entries of a log. */
export class NatsLogs extends EngineLogs {
  readonly #followers: Followers;
  readonly #entries: LogEntries;
  readonly #writer: LogWriter;
  /** Number of the last message of the logs that were looked at. */
  #looked = new Map<string, number>();

  constructor({ documents, mirror, node, closed, changed, askToHold }: NatsLogsOptions) {
    const entries = new LogEntries(documents);
    const streams = new LogStreams(documents, mirror, entries);
    const read = readStream(entries, streams);
    const followers = new Followers(documents.engine.clock, read, closed);
    const writer = new LogWriter(entries, streams, node, askToHold);
    super(
      {
        ...operationsOf(documents, entries, streams),
        claim: (log, stream) => writer.claim(log, stream),
        append: (claimed, seq, data, last) => writer.append(claimed, seq, data, last),
        read,
        changed(log) {
          followers.wake(log);
          changed(log);
        },
      },
      followers,
    );
    this.#entries = entries;
    this.#followers = followers;
    this.#writer = writer;
  }

  /** Wakes the followers of logs. */
  wake(logs: readonly string[]): void {
    for (const log of logs) this.#followers.wake(log);
  }

  /** Lets another process write to a log. */
  hold(log: string): void {
    this.#writer.hold(log);
  }

  wakeAll(): void {
    for (const { follower } of this.#followers.all()) follower.wake();
  }

  /** Wakes the followers of logs that have changed since the last look, in case that nobody could tell it. */
  async look(): Promise<void> {
    const before = this.#looked;
    const logs = new Set(this.#followers.all().map(({ log }) => log));
    this.#looked = new Map();
    for (const log of logs) {
      const { seq } = await this.#entries.head("look for entries", log);
      if (before.get(log) !== seq) this.#followers.wake(log);
      this.#looked.set(log, seq);
    }
  }
}

/** Log that was dropped, by this call or before. */
interface Dropped {
  readonly id: string | undefined;
  readonly isNew: boolean;
}

function operationsOf(
  documents: Documents,
  entries: LogEntries,
  streams: LogStreams,
): Pick<LogOperations, "create" | "find" | "open" | "drop"> {
  const { engine } = documents;
  const subjectOf = (log: string) => engine.names.plainSubject("log", log);
  return {
    create: async (log, keepMs, maxEntries, maxBytes, maxStreams) =>
      documents.change("create a log", subjectOf(log), (found) =>
        found === undefined
          ? { meta: { keepMs, maxEntries, maxBytes, maxStreams }, result: () => true }
          : { result: () => found.meta.dropped !== true },
      ),
    async find(log, place) {
      const what = "find an entry";
      const found = await entries.log(what, log);
      if (found?.id !== place.log) return undefined;
      const [head, entry] = await Promise.all([
        entries.head(what, found.id),
        entries.at(what, found.id, Number(place.n)),
      ]);
      const isFound = entry?.meta.kind === "entry" && entries.isKept(entry, head, found);
      return isFound ? entry.meta.stream : undefined;
    },
    async open(node, after) {
      const all = await streams.all(ofNode(node));
      const open = all.map(({ id, stream, meta }) => ({ id, log: meta.log, stream })).sort(byPlace);
      return open.filter((stream) => after === undefined || byPlace(stream, after) > 0).slice(0, OPEN_PAGE);
    },
    async drop(log) {
      const what = "drop a log";
      const { id, isNew } = await documents.change<Dropped>(what, subjectOf(log), (found) => {
        if (found === undefined) return { result: () => ({ id: undefined, isNew: false }) };
        if (found.meta.dropped === true) return { result: () => ({ id: String(found.meta.id), isNew: false }) };
        const meta = { dropped: true, id: String(found.seq), ttl: Number(found.meta.keepMs) };
        return { meta, result: () => ({ id: meta.id, isNew: true }) };
      });
      if (id === undefined) return undefined;
      // A log that was dropped before may not be empty, if the process that dropped it was lost.
      await streams.removeAll(id);
      await engine.purge(what, engine.names.entries, engine.names.entriesOf(id));
      return isNew ? id : undefined;
    },
  };
}

function readStream(entries: LogEntries, streams: LogStreams): ReadStream {
  const what = "read a stream";
  return async (log, stream, after, limit = Number.POSITIVE_INFINITY) => {
    const found = await entries.log(what, log);
    if (found === undefined) return undefined;
    const { id } = found;
    const isHere = after === undefined || after.log === id;
    const from = Number(after?.n ?? 0);
    const [seen, meta, place] = await Promise.all([
      entries.head(what, id),
      streams.get(what, id, stream),
      after !== undefined && isHere ? entries.at(what, id, from) : undefined,
    ]);
    // The stream may have ended after the last message was read.
    const head = seen.seq < (meta?.end ?? 0) ? await entries.head(what, id) : seen;
    const messages: EntryMessage[] = [];
    if (isHere)
      for await (const message of entries.between(what, id, from, head.seq)) {
        if (isEntryOf(message, stream)) messages.push(message);
        if (messages.length >= limit) break;
      }
    const [first] = messages;
    const end = meta?.end ?? messages.find((message) => message.meta.last)?.seq;
    return {
      log: id,
      entries: messages.map((message) => ({
        entry: { id: idOf(id, String(message.seq)), data: message.text, last: message.meta.last === true },
        n: String(message.seq),
        isOld: !entries.isKept(message, head, found),
      })),
      isKept: after === undefined || (isEntryOf(place, stream) && entries.isKept(place, head, found)),
      trimmed: BigInt(first?.meta.before ?? (end !== undefined && end > from ? end : 0)),
      isKnown: meta !== undefined,
      isEnded: end !== undefined,
      top: BigInt(end ?? 0),
    };
  };
}

/** Compares streams by the number of their log, then by their name. */
function byPlace(one: OpenStream, other: OpenStream): number {
  if (one.id !== other.id) return Number(one.id) - Number(other.id);
  return one.stream === other.stream ? 0 : one.stream > other.stream ? 1 : -1;
}
