import { idOf, type ReadEntry, type ReadStream } from "../cluster/engine/stream-page.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Row } from "./client.js";
import type { Engine } from "./engine.js";
import type { Names } from "./tables.js";

/** Returns the function that reads entries of streams. */
export function readStream(engine: Engine, { of }: Names): ReadStream {
  const isKept = "e.at + l.keep > clock_timestamp()";
  const text = `select l.id::text as log, s.trimmed::text, s.ended::text, s.top::text, e.n::text, e.data,
      e.last::text, (not ${isKept})::text as old, ($3::bigint is null or l.id = $3::bigint and exists (
        select from ${of("entries")} e where e.log = l.id and e.n = $4::bigint and e.stream = $2::text and ${isKept}
      ))::text as kept
    from ${of("logs")} l left join ${of("streams")} s on s.log = l.id and s.name = $2::text
    left join lateral (
      select * from ${of("entries")} x where x.log = l.id and x.stream = $2::text and x.n > coalesce($4::bigint, 0)
      order by x.n limit $5::bigint
    ) e on true
    where l.name = $1::text and l.gone is null order by e.n`;
  const statement = { operation: "read a stream", text, isRead: true };
  return async (log, stream, after, limit) => {
    const values = [toStored(log), toStored(stream), after?.log ?? null, after?.n ?? null, limit ?? null];
    const rows = await engine.run(statement, ...values);
    const [first] = rows;
    if (first === undefined) return undefined;
    return {
      log: first.log ?? "",
      entries: rows.filter(({ n }) => n != null).map(entryOf),
      isKept: first.kept === "true",
      trimmed: BigInt(first.trimmed ?? 0),
      isKnown: first.top != null,
      isEnded: first.ended === "true",
      top: BigInt(first.top ?? 0),
    };
  };
}

function entryOf({ log, n, data, last, old }: Row): ReadEntry {
  const entry = { id: idOf(log ?? "", n ?? ""), data: fromStored(data), last: last === "true" };
  return { entry, n: n ?? "", isOld: old === "true" };
}
