import { EngineLogs, OPEN_PAGE } from "../cluster/engine/logs.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { PostgresFollowers } from "./followers.js";
import { readStream } from "./stream-reader.js";
import type { Names } from "./tables.js";

export function postgresLogs(engine: Engine, names: Names, node: string, followers: PostgresFollowers): EngineLogs {
  const statements = statementsOf(names);
  return new EngineLogs(
    {
      read: readStream(engine, names),
      changed: (log) => followers.changed(log),
      async create(log, ...limits) {
        const [row] = await engine.run(statements.create, toStored(log), ...limits);
        return row?.created === "true";
      },
      async claim(log, stream) {
        const [row] = await engine.run(statements.claim, toStored(log), toStored(stream), node);
        return row?.claim ?? undefined;
      },
      async append({ id, stream, claim }, seq, data, last) {
        const values = [id, toStored(stream), claim, seq, toStored(data), String(last)];
        const [row] = await engine.run(statements.append, ...values);
        return row?.result ?? "";
      },
      async find(log, place) {
        const [row] = await engine.run(statements.find, toStored(log), place.log, place.n);
        return row && fromStored(row.stream);
      },
      async open(owner, after) {
        const place = [after?.id ?? 0, toStored(after?.stream ?? "")];
        const rows = await engine.run(statements.open, owner, ...place);
        return rows.map(({ id, log, stream }) => ({ id: id ?? "", log: fromStored(log), stream: fromStored(stream) }));
      },
      async drop(log) {
        const [row] = await engine.run(statements.drop, toStored(log));
        return row?.log ?? undefined;
      },
    },
    followers,
  );
}

function statementsOf({ of }: Names) {
  return {
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
        order by s.log, s.name limit ${OPEN_PAGE}`,
    },
    drop: { operation: "drop a log", text: `select ${of("drop_1")}($1::text) as log` },
  };
}
