import type { LogEntry, LogOptions, Logs, Writer } from "../cluster.js";
import type { ClusterError } from "../error.js";
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
} from "../log-errors.js";
import type { Followers } from "./followers.js";
import { idOf, numberOf, type Place, type ReadStream } from "./stream-page.js";

/** Number of streams that one operation lists. */
export const OPEN_PAGE = 500;

/** Claimed stream, with the number of its log and of the claim. */
export interface Claimed {
  readonly log: string;
  readonly stream: string;
  readonly id: string;
  readonly claim: string;
}

/** Stream without an end mark, with the number of its log. */
export interface OpenStream {
  readonly id: string;
  readonly log: string;
  readonly stream: string;
}

/** Operations of an engine on logs. */
export interface LogOperations {
  /** Resolves with false if the log was dropped a short time ago. */
  create(log: string, keepMs: number, maxEntries: number, maxBytes: number, maxStreams: number): Promise<boolean>;
  /**
   * Resolves with the numbers of the log and the claim, separated by a colon, or with `full:` and the maximum number of
   * streams, or with undefined if the log does not exist.
   */
  claim(log: string, stream: string): Promise<string | undefined>;
  /** Resolves with the number of the entry, or with a verdict that {@link appendError} reads. */
  append(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string>;
  /** Resolves with the stream of an entry. */
  find(log: string, place: Place): Promise<string | undefined>;
  /** Resolves with a page of the open streams of a node, in the order of the numbers of logs and the names of streams. */
  open(node: string, after: OpenStream | undefined): Promise<readonly OpenStream[]>;
  /** Resolves with the number of the log, or with undefined if it does not exist. */
  drop(log: string): Promise<string | undefined>;
  readonly read: ReadStream;
  /** Wakes the followers of a log on all processes. */
  changed(log: string): void;
}

/** Logs in an engine, whose entries have numbers. */
export class EngineLogs implements Logs {
  readonly #operations: LogOperations;
  readonly #followers: Followers;

  constructor(operations: LogOperations, followers: Followers) {
    this.#operations = operations;
    this.#followers = followers;
  }

  async create(log: string, options: LogOptions): Promise<void> {
    const { keepMs, maxEntries, maxBytes, maxStreams = MAX_STREAMS } = options;
    const most = (limit: number) => Math.min(limit, 1e13);
    const limits = [most(keepMs), most(maxEntries), most(maxBytes), most(maxStreams)] as const;
    if (!(await this.#operations.create(log, ...limits))) throw buriedError(log);
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const [id, claim] = ((await this.#operations.claim(log, stream)) ?? "").split(":");
    if (id === undefined || claim === undefined) throw droppedError(log);
    if (id === "full") throw fullError(log, stream, claim);
    let turn: Promise<unknown> = Promise.resolve();
    return {
      append: (seq, data, { last = false } = {}) => {
        // The engine takes entries in the order of their numbers, and may have several connections.
        const appended = turn.then(() => this.#append({ log, stream, id, claim }, seq, data, last));
        turn = appended.catch(() => {});
        return appended;
      },
    };
  }

  async #append(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string> {
    const result = await this.#operations.append(claimed, seq, data, last);
    if (!/^\d+$/.test(result)) throw appendError(result, claimed, seq);
    this.#operations.changed(claimed.id);
    return idOf(claimed.id, result);
  }

  async find(log: string, id: string): Promise<string | undefined> {
    const place = numberOf(id);
    return place && this.#operations.find(log, place);
  }

  async readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    const place = id === undefined ? undefined : numberOf(id);
    if (id !== undefined && place === undefined) return undefined;
    const page = await this.#operations.read(log, stream, place);
    if (page === undefined || !page.isKept) return id === undefined ? [] : undefined;
    return page.entries.filter(({ isOld }) => !isOld).map(({ entry }) => entry);
  }

  follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    return this.#followers.follow(log, stream, after, signal);
  }

  async *openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }> {
    let last: OpenStream | undefined;
    for (;;) {
      const page = await this.#operations.open(node, last);
      for (const { log, stream } of page) yield { log, stream };
      last = page.at(-1);
      if (page.length < OPEN_PAGE) return;
    }
  }

  async drop(log: string): Promise<void> {
    const id = await this.#operations.drop(log);
    if (id !== undefined) this.#operations.changed(id);
  }
}

/** Returns the error of an append. The verdicts `different` and `order` contain the next seq after a colon. */
function appendError(result: string, { log, stream }: Claimed, seq: number): ClusterError {
  if (result === "dropped") return droppedError(log);
  if (result === "fenced") return fencedError(log, stream);
  if (result === "ended") return endedError(log, stream);
  if (result === "missed") return missedError(log, stream);
  const [verdict, next = ""] = result.split(":");
  return (verdict === "different" ? differentError : skippedError)(log, stream, seq, next);
}
