import type { LogEntry, LogOptions, Logs, Writer } from "../cluster/cluster.js";
import type { ClusterError } from "../cluster/error.js";
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
import type { Row } from "./client.js";
import type { Engine, Statement } from "./engine.js";
import type { Followers } from "./followers.js";
import { idOf, numberOf, type StreamReader } from "./stream-reader.js";
import type { Names } from "./tables.js";
import { fromStored, toStored } from "./text.js";

/** Number of streams that one statement lists. */
const PAGE = 500;

export class PostgresLogs implements Logs {
  readonly #engine: Engine;
  readonly #node: string;
  readonly #reader: StreamReader;
  readonly #followers: Followers;
  readonly #statements: Readonly<Record<"create" | "claim" | "append" | "find" | "open" | "drop", Statement>>;

  constructor(engine: Engine, { of }: Names, node: string, reader: StreamReader, followers: Followers) {
    this.#engine = engine;
    this.#node = node;
    this.#reader = reader;
    this.#followers = followers;
    this.#statements = {
      create: {
        operation: "create a log",
        text: `select ${of("create_1")}($1::text, $2::float8 * interval '1 millisecond', $3::float8::bigint,
          $4::float8::bigint, $5::float8::bigint)::text as created`,
      },
      claim: { operation: "claim a stream", text: `select ${of("claim_1")}($1::text, $2::text, $3::text) as claim` },
      append: {
        operation: "append to a stream",
        text: `select ${of("append_1")}($1::bigint, $2::text, $3::bigint, $4::bigint, $5::text, $6::text::boolean) as result`,
      },
      find: {
        operation: "find an entry",
        isRead: true,
        text: `select e.stream from ${of("logs")} l join ${of("entries")} e on e.log = l.id
          where l.name = $1::text and l.id = $2::bigint and e.n = $3::bigint and e.at + l.keep > clock_timestamp()`,
      },
      open: {
        operation: "list open streams",
        isRead: true,
        text: `select l.name as log, l.id::text, s.name as stream from ${of("streams")} s join ${of("logs")} l on l.id = s.log
          where s.node = $1::text and not s.ended and (s.log, s.name) > ($2::bigint, $3::text collate "C")
          order by s.log, s.name limit ${PAGE}`,
      },
      drop: { operation: "drop a log", text: `select ${of("drop_1")}($1::text) as log` },
    };
  }

  async create(log: string, options: LogOptions): Promise<void> {
    const { keepMs, maxEntries, maxBytes, maxStreams = MAX_STREAMS } = options;
    const most = [keepMs, maxEntries, maxBytes, maxStreams].map((limit) => Math.min(limit, 1e13));
    const [row] = await this.#engine.run(this.#statements.create, toStored(log), ...most);
    if (row?.created !== "true") throw buriedError(log);
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const [row] = await this.#engine.run(this.#statements.claim, toStored(log), toStored(stream), this.#node);
    const [id, claim] = (row?.claim ?? "").split(":");
    if (id === undefined || claim === undefined) throw droppedError(log);
    if (id === "full") throw fullError(log, stream, claim);
    let turn: Promise<unknown> = Promise.resolve();
    return {
      append: (seq, data, { last = false } = {}) => {
        // The server takes entries in the order of their numbers, and a pool has several connections.
        const appended = turn.then(() => this.#append({ log, stream, id, claim }, seq, data, last));
        turn = appended.catch(() => {});
        return appended;
      },
    };
  }

  async #append(claimed: Claimed, seq: number, data: string, last: boolean): Promise<string> {
    const { log, stream, id, claim } = claimed;
    const values = [id, toStored(stream), claim, seq, toStored(data), String(last)];
    const [row] = await this.#engine.run(this.#statements.append, ...values);
    const result = row?.result ?? "";
    if (!/^\d+$/.test(result)) throw appendError(result, log, stream, seq);
    this.#followers.changed(id);
    return idOf(id, result);
  }

  async find(log: string, id: string): Promise<string | undefined> {
    const place = numberOf(id);
    if (place === undefined) return undefined;
    const [row] = await this.#engine.run(this.#statements.find, toStored(log), place.log, place.n);
    return row && fromStored(row.stream);
  }

  async readAfter(log: string, stream: string, id?: string): Promise<readonly LogEntry[] | undefined> {
    const place = id === undefined ? undefined : numberOf(id);
    if (id !== undefined && place === undefined) return undefined;
    const page = await this.#reader.read(log, stream, place);
    if (page === undefined || !page.isKept) return id === undefined ? [] : undefined;
    return page.entries.filter(({ isOld }) => !isOld).map(({ entry }) => entry);
  }

  follow(log: string, stream: string, after: string | undefined, signal: AbortSignal): AsyncIterable<LogEntry> {
    return this.#followers.follow(log, stream, after, signal);
  }

  async *openOf(node: string): AsyncIterable<{ readonly log: string; readonly stream: string }> {
    let last: Row | undefined;
    for (;;) {
      const after = [last?.id ?? 0, last?.stream ?? ""];
      const rows = await this.#engine.run(this.#statements.open, node, ...after);
      for (const { log, stream } of rows) yield { log: fromStored(log), stream: fromStored(stream) };
      last = rows.at(-1);
      if (rows.length < PAGE) return;
    }
  }

  async drop(log: string): Promise<void> {
    const [row] = await this.#engine.run(this.#statements.drop, toStored(log));
    if (row?.log != null) this.#followers.changed(row.log);
  }
}

interface Claimed {
  readonly log: string;
  readonly stream: string;
  readonly id: string;
  readonly claim: string;
}

function appendError(result: string, log: string, stream: string, seq: number): ClusterError {
  if (result === "dropped") return droppedError(log);
  if (result === "fenced") return fencedError(log, stream);
  if (result === "ended") return endedError(log, stream);
  if (result === "missed") return missedError(log, stream);
  const [verdict, next = ""] = result.split(":");
  return (verdict === "different" ? differentError : skippedError)(log, stream, seq, next);
}
