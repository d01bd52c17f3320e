import { Followers } from "../cluster/engine/followers.js";
import { toStored } from "../cluster/engine/text.js";
import type { Engine } from "./engine.js";
import type { Outbox } from "./outbox.js";
import { readStream } from "./stream-reader.js";
import type { Names } from "./tables.js";

/** Number of followers for which one statement looks. */
const MAX_LOOK = 1000;

/**
 * Followers of the streams of this process. A notification wakes those of its log. One statement per heartbeat finds the
 * changes of which no notification came, as when a writer ended between an entry and its notification.
 */
export class PostgresFollowers extends Followers {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #outbox: Outbox;

  constructor(engine: Engine, names: Names, outbox: Outbox, closed: AbortSignal) {
    super(engine.clock, readStream(engine, names), closed);
    this.#engine = engine;
    this.#names = names;
    this.#outbox = outbox;
  }

  /** Wakes the followers of a log on all processes. */
  changed(log: string): void {
    this.wake(log);
    this.#outbox.nudgeLog(log);
  }

  /** Wakes the followers of this process whose streams have changed. */
  async look(): Promise<void> {
    const all = this.all();
    const text = `select x.i::text from jsonb_to_recordset($1::text::jsonb) as x(i int, log bigint, stream text, n bigint, known boolean)
      left join ${this.#names.of("logs")} l on l.id = x.log and l.gone is null
      left join ${this.#names.of("streams")} s on s.log = x.log and s.name = x.stream
      where l.id is null or s.top > x.n or (s.log is null and x.known)`;
    for (let from = 0; from < all.length; from += MAX_LOOK) {
      const part = all.slice(from, from + MAX_LOOK);
      const wanted = part.map(({ log, follower }, i) => ({
        i,
        log,
        stream: toStored(follower.stream),
        n: follower.place?.n ?? "0",
        known: follower.isKnown,
      }));
      const statement = { operation: "look for entries", text, isRead: true };
      for (const { i } of await this.#engine.run(statement, JSON.stringify(wanted))) part[Number(i)]?.follower.wake();
    }
  }
}
