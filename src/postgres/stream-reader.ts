import type { LogEntry } from "../cluster/cluster.js";
import type { Row } from "./client.js";
import type { Engine } from "./engine.js";
import type { Names } from "./tables.js";
import { fromStored, toStored } from "./text.js";

/** Place of an entry: number of its log and its number in the log. */
export interface Place {
  readonly log: string;
  readonly n: string;
}

/** Returns the id of an entry. Numbers of logs are not used again, so that an id never means another entry. */
export const idOf = (log: string, n: string) => `${log}-${n}`;

export function numberOf(id: string): Place | undefined {
  const [, log, n] = /^(\d{1,18})-(\d{1,18})$/.exec(id) ?? [];
  return log === undefined || n === undefined ? undefined : { log, n };
}

export interface ReadEntry {
  readonly entry: LogEntry;
  readonly n: string;
  /** True if the time to keep the entry has passed. */
  readonly isOld: boolean;
}

/** Entries of a stream after a place, with the state of the stream at the same moment. */
export interface StreamPage {
  readonly log: string;
  readonly entries: readonly ReadEntry[];
  /** True if the entry at the place is kept, or if there was no place. */
  readonly isKept: boolean;
  /** Number of the newest entry of the stream that is not kept any more. */
  readonly trimmed: bigint;
  /** True if the stream was claimed and is not forgotten. */
  readonly isKnown: boolean;
  readonly isEnded: boolean;
  /** Number of the newest entry of the stream. */
  readonly top: bigint;
}

/** Reads entries of streams. */
export class StreamReader {
  readonly #engine: Engine;
  readonly #text: string;

  constructor(engine: Engine, { of }: Names) {
    this.#engine = engine;
    const isKept = "e.at + l.keep > clock_timestamp()";
    this.#text = `select l.id::text as log, s.trimmed::text, s.ended::text, s.top::text, e.n::text, e.data,
        e.last::text, (not ${isKept})::text as old, ($3::bigint is null or l.id = $3::bigint and exists (
          select from ${of("entries")} e where e.log = l.id and e.n = $4::bigint and e.stream = $2::text and ${isKept}
        ))::text as kept
      from ${of("logs")} l left join ${of("streams")} s on s.log = l.id and s.name = $2::text
      left join lateral (
        select * from ${of("entries")} x where x.log = l.id and x.stream = $2::text and x.n > coalesce($4::bigint, 0)
        order by x.n limit $5::bigint
      ) e on true
      where l.name = $1::text and l.gone is null order by e.n`;
  }

  /** Returns undefined if the log does not exist. */
  async read(log: string, stream: string, after: Place | undefined, limit?: number): Promise<StreamPage | undefined> {
    const values = [toStored(log), toStored(stream), after?.log ?? null, after?.n ?? null, limit ?? null];
    const rows = await this.#engine.run({ operation: "read a stream", text: this.#text, isRead: true }, ...values);
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
  }
}

function entryOf({ log, n, data, last, old }: Row): ReadEntry {
  const entry = { id: idOf(log ?? "", n ?? ""), data: fromStored(data), last: last === "true" };
  return { entry, n: n ?? "", isOld: old === "true" };
}
