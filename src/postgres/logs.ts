import type { LogEntry, LogOptions, Logs, Writer } from "../cluster/cluster.js";
import { ClusterError } from "../cluster/error.js";
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
          $4::float8::bigint)::text as created`,
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

  async create(log: string, { keepMs, maxEntries, maxBytes }: LogOptions): Promise<void> {
    const most = [keepMs, maxEntries, maxBytes].map((limit) => Math.min(limit, 1e13));
    const [row] = await this.#engine.run(this.#statements.create, toStored(log), ...most);
    if (row?.created !== "true")
      throw new ClusterError("dropped", `Log ${log}: it was dropped. Its name can be used again after its keepMs.`);
  }

  async claim(log: string, stream: string): Promise<Writer> {
    const [row] = await this.#engine.run(this.#statements.claim, toStored(log), toStored(stream), this.#node);
    const [id, claim] = (row?.claim ?? "").split(":");
    if (id === undefined || claim === undefined) throw dropped(log, "claim");
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

function dropped(log: string, operation: string): ClusterError {
  return new ClusterError(
    "dropped",
    `Log ${log}, ${operation}: the log does not exist. It was dropped or not created.`,
  );
}

function appendError(result: string, log: string, stream: string, seq: number): ClusterError {
  const place = `Log ${log}, stream ${stream}, entry ${seq}`;
  if (result === "dropped") return dropped(log, `append to ${stream}`);
  if (result === "fenced") return new ClusterError("fenced", `${place}: another process has claimed the stream.`);
  if (result === "ended") return new ClusterError("refused", `${place}: the stream has ended.`);
  if (result === "missed")
    return new ClusterError("missed", `${place}: the entry was appended and is not kept any more.`);
  const [verdict, next] = result.split(":");
  if (verdict === "different")
    return new ClusterError(
      "refused",
      `${place}: it was appended with other data. Append the new data as entry ${next}.`,
    );
  return new ClusterError("refused", `${place}: the next entry of this writer is ${next}. Append entries in order.`);
}
