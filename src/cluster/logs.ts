import { Batches } from "./batches.js";
import type { LogEntry, LogOptions, Logs, Writer } from "./cluster.js";
import type { ClusterError } from "./error.js";
import {
  buriedError,
  differentError,
  droppedError,
  endedError,
  fencedError,
  fullError,
  MAX_STREAMS,
  missedError,
  named,
  skippedError,
} from "./log-errors.js";
import { hexDigits, type Operations } from "./operations.js";
import { type ClaimedStream, type LogPlace, OPEN_PAGE, type OpenStream, type StoredEntry } from "./store.js";

/** Greatest limit that each engine can store. */
const MAX_LIMIT = 1e13;

/** Number of entries that one read returns. */
const PAGE = 1_000;

/** Maximum number and characters of the entries of one append. */
const MAX_APPENDED = 100;
const MAX_APPENDED_CHARS = 1_048_576;

/** Begin of the text that wakes the followers of a log in all processes. */
export const LOG_NOTICE = "l ";

const noticeOf = (log: string) => LOG_NOTICE + log;

/**
 * Returns the id of an entry: the number of its log, its number there, and the claim by which it was written. An engine
 * that has lost writes gives numbers twice, but a claim is random, so that an id never means another entry.
 */
export function idOf({ id, n, claim }: LogPlace): string {
  return `${id}-${n}-${claim}`;
}

/** Returns the place that an id names, or undefined if it is not the id of an entry. */
export function placeOf(text: string): LogPlace | undefined {
  const [, id, n, claim] = /^([\dA-Za-z.]{1,64})-(\d{1,18})-([\da-f]{12})$/.exec(text) ?? [];
  return id === undefined || n === undefined || claim === undefined ? undefined : { id, n, claim };
}

export function entryOf(id: string, { n, claim, data, last }: StoredEntry): LogEntry {
  return { id: idOf({ id, n, claim }), data, last };
}

/** Logs of a store. */
export class ClusterLogs implements Logs {
  readonly #operations: Operations;
  readonly follow: Logs["follow"];

  /** `follow` reads the entries of a stream, and those that come. */
  constructor(operations: Operations, follow: Logs["follow"]) {
    this.#operations = operations;
    this.follow = follow;
  }

  async create(log: string, options: LogOptions): Promise<void> {
    const { keepMs, maxEntries, maxBytes, maxStreams = MAX_STREAMS } = options;
    const most = (limit: number) => Math.min(limit, MAX_LIMIT);
    const limits = {
      keepMs: most(keepMs),
      maxEntries: most(maxEntries),
      maxBytes: most(maxBytes),
      maxStreams: most(maxStreams),
    };
    if (!(await this.#operations.run(`create ${named(log)}`, ({ logs }) => logs.create(log, limits))))
      throw buriedError(log);
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const claim = hexDigits(12);
    const { node } = this.#operations;
    const what = `claim ${named(log, stream)}`;
    const id = await this.#operations.run(what, ({ logs }) => logs.claim(log, stream, node, claim));
    if (id === undefined) throw droppedError(log);
    if (id.startsWith("full:")) throw fullError(log, stream, id.slice("full:".length));
    return new StreamWriter(this.#operations, { log, stream, id, claim });
  }

  async find(log: string, id: string): Promise<string | undefined> {
    const place = placeOf(id);
    return place && this.#operations.run(`find an entry of ${named(log)}`, ({ logs }) => logs.find(log, place));
  }

  async readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    let place = id === undefined ? undefined : placeOf(id);
    if (id !== undefined && place === undefined) return undefined;
    const what = `read ${named(log, stream)}`;
    const entries: LogEntry[] = [];
    for (let isFirst = true; ; isFirst = false) {
      const page = await this.#operations.run(what, ({ logs }) => logs.read(log, stream, place, PAGE));
      if (isFirst && !page?.isKept) return id === undefined ? [] : undefined;
      for (const entry of page?.entries ?? []) entries.push(entryOf(page?.id ?? "", entry));
      const last = page?.entries.at(-1);
      if (page === undefined || last === undefined || page.entries.length < PAGE) return entries;
      place = { id: page.id, n: last.n, claim: last.claim };
    }
  }

  async *openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }> {
    const what = `list the open streams of node ${node}`;
    for (let last: OpenStream | undefined; ; ) {
      const page = await this.#operations.run(what, ({ logs }) => logs.open(node, last));
      for (const { log, stream } of page) yield { log, stream };
      last = page.at(-1);
      if (page.length < OPEN_PAGE) return;
    }
  }

  drop(log: string): Promise<void> {
    return this.#operations.run(`drop ${named(log)}`, ({ logs }) => logs.drop(log, noticeOf(log)));
  }
}

interface Appended {
  readonly seq: number;
  readonly data: string;
  readonly last: boolean;
  resolve(id: string): void;
  reject(error: unknown): void;
}

/** Writer that appends one batch at a time. */
class StreamWriter implements Writer {
  readonly #operations: Operations;
  readonly #claimed: ClaimedStream;
  readonly #waiting = new Batches<Appended>((waiting) => this.#append(waiting));

  constructor(operations: Operations, claimed: ClaimedStream) {
    this.#operations = operations;
    this.#claimed = claimed;
  }

  append(seq: number, data: string, { last = false }: { readonly last?: boolean } = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ seq, data, last, resolve, reject });
    });
  }

  wrote(id: string): boolean {
    return placeOf(id)?.claim === this.#claimed.claim;
  }

  async #append(waiting: Appended[]): Promise<void> {
    const claimed = this.#claimed;
    const batch = nextBatch(waiting);
    const { log, stream, id, claim } = claimed;
    const [{ seq = 0 } = {}] = batch;
    try {
      const results = await this.#operations.run(`append to ${named(log, stream)}`, ({ logs }) =>
        logs.append(claimed, seq, batch, noticeOf(log)),
      );
      for (const [at, result] of results.entries()) {
        const entry = batch[at] as Appended;
        if (/^\d+$/.test(result)) entry.resolve(idOf({ id, n: result, claim }));
        else entry.reject(appendError(result, claimed, entry.seq));
      }
      waiting.unshift(...batch.slice(results.length));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Removes the entries that the next operation appends: those that follow each other, within the maximum. */
function nextBatch(waiting: Appended[]): readonly Appended[] {
  let [count, chars] = [0, 0];
  for (const { seq, data } of waiting) {
    chars += data.length;
    const follows = seq === (waiting[0] as Appended).seq + count;
    if (count > 0 && (!follows || count === MAX_APPENDED || chars > MAX_APPENDED_CHARS)) break;
    count++;
  }
  return waiting.splice(0, count);
}

/** Returns the error of an append that was refused. */
function appendError(result: string, { log, stream }: ClaimedStream, seq: number): ClusterError {
  if (result === "dropped") return droppedError(log);
  if (result === "fenced") return fencedError(log, stream);
  if (result === "ended") return endedError(log, stream);
  if (result === "missed") return missedError(log, stream);
  const [verdict, next = ""] = result.split(":");
  return (verdict === "different" ? differentError : skippedError)(log, stream, seq, next);
}
