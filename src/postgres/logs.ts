import {
  type AppendResult,
  type ClaimedStream,
  type LogPlace,
  OPEN_PAGE,
  type OpenStream,
  type StoreLogLimits,
  type StoreLogs,
  type StreamPage,
} from "../cluster/store.js";
import { fromStored, toStored } from "../cluster/text.js";
import type { Connection } from "./connection.js";
import type { Names } from "./schema.js";

/** Logs in PostgreSQL. */
export class PostgresLogs implements StoreLogs {
  readonly #connection: Connection;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(connection: Connection, names: Names) {
    this.#connection = connection;
    this.#statements = statementsOf(names);
  }

  async create(log: string, limits: StoreLogLimits): Promise<boolean> {
    const { keepMs, maxEntries, maxBytes, maxStreams } = limits;
    const values = [toStored(log), keepMs, maxEntries, maxBytes, maxStreams];
    const [row] = await this.#connection.run(this.#statements.create, log, values);
    return row?.created === "true";
  }

  async claim(log: string, stream: string, node: string, claim: string): Promise<string | undefined> {
    const values = [log, stream, node, claim].map(toStored);
    const [row] = await this.#connection.run(this.#statements.claim, log, values);
    return row?.log ?? undefined;
  }

  async append(
    { log, stream, id, claim }: ClaimedStream,
    seq: number,
    entries: readonly { readonly data: string; readonly last: boolean }[],
    notice: string,
  ): Promise<readonly AppendResult[]> {
    const stored = entries.map(({ data, last }) => ({ data: toStored(data), last }));
    const values = [id, toStored(stream), claim, seq, JSON.stringify(stored), toStored(notice)];
    const [row] = await this.#connection.run(this.#statements.append, log, values);
    return (row?.results ?? "").split(" ");
  }

  async find(log: string, { id, n, claim }: LogPlace): Promise<string | undefined> {
    const [row] = await this.#connection.run(this.#statements.find, log, [toStored(log), id, n, claim]);
    return row && fromStored(row.stream);
  }

  async read(log: string, stream: string, after: LogPlace | undefined, limit: number): Promise<StreamPage | undefined> {
    const place = [after?.id ?? null, after?.n ?? 0, after?.claim ?? null];
    const values = [toStored(log), toStored(stream), ...place, limit];
    const rows = await this.#connection.run(this.#statements.read, log, values);
    const [head] = rows;
    if (head === undefined) return undefined;
    const entries = rows.filter(({ n }) => n != null);
    return {
      id: head.log ?? "",
      entries: entries.map(({ n, claim, data, last }) => {
        return { n: n ?? "", claim: claim ?? "", data: fromStored(data), last: last === "true" };
      }),
      isKept: head.kept === "true",
      trimmed: head.trimmed ?? "0",
      isKnown: head.top != null,
      isEnded: head.ended === "true",
      top: head.top ?? "0",
    };
  }

  async open(node: string, after: OpenStream | undefined): Promise<readonly OpenStream[]> {
    const values = [toStored(node), after?.id ?? 0, toStored(after?.stream ?? "")];
    const rows = await this.#connection.run(this.#statements.open, node, values);
    return rows.map(({ id, log, stream }) => ({ id: id ?? "", log: fromStored(log), stream: fromStored(stream) }));
  }

  async drop(log: string, notice: string): Promise<void> {
    await this.#connection.run(this.#statements.drop, log, [toStored(log), toStored(notice)]);
  }
}

const read = (operation: string, text: string) => ({ operation, text, isRead: true });

function statementsOf({ of, channel }: Names) {
  return {
    create: {
      operation: "create log",
      text: `select ${of("create_2")}($1::text, $2::float8 * interval '1 millisecond', $3::float8::bigint, $4::float8::bigint,
        $5::float8::bigint)::text as created`,
    },
    claim: {
      operation: "claim a stream of log",
      text: `select ${of("claim_2")}($1::text, $2::text, $3::text, $4::text) as log`,
    },
    append: {
      operation: "append to log",
      text: `call ${of("append_2")}($1::bigint, $2::text, $3::text, $4::bigint, $5::text, '${channel}', $6::text, null)`,
    },
    find: read(
      "find an entry of log",
      `select x.stream from ${of("logs")} l join ${of("entries")} x on x.log = l.id
        where l.name = $1::text and l.id::text = $2::text and x.n = $3::bigint and x.claim = $4::text and x.at + l.keep > clock_timestamp()`,
    ),
    read: read(
      "read a stream of log",
      `select * from ${of("read_2")}($1::text, $2::text, $3::text, $4::bigint, $5::text, $6::bigint)`,
    ),
    open: read(
      "list the open streams of node",
      `select l.name as log, l.id::text, s.name as stream from ${of("streams")} s join ${of("logs")} l on l.id = s.log
        where s.node = $1::text and not s.ended and (s.log, s.name) > ($2::bigint, $3::text collate "C")
        order by s.log, s.name limit ${OPEN_PAGE}`,
    ),
    drop: { operation: "drop log", text: `call ${of("drop_2")}($1::text, '${channel}', $2::text)` },
  };
}
