import type { LogEntry } from "../cluster/cluster.js";
import { Followers } from "../cluster/engine/followers.js";
import { EngineLogs, type LogOperations } from "../cluster/engine/logs.js";
import { idOf, type ReadEntry, type ReadStream } from "../cluster/engine/stream-page.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import type { Row } from "./database.js";
import type { Engine } from "./engine.js";
import type { Watch } from "./watch.js";

/** Maximum number of entries that are read at once. */
const MOST = 2 ** 31 - 1;

export class SqliteLogs extends EngineLogs {
  readonly #followers: Followers;
  readonly #watch: Watch;

  constructor(engine: Engine, watch: Watch, node: string, closed: AbortSignal) {
    const read = readStream(engine);
    const followers = new Followers(engine.clock, read, closed);
    super(operationsOf(engine, node, read, followers), followers);
    this.#followers = followers;
    this.#watch = watch;
  }

  override follow(
    log: string,
    stream: string,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<LogEntry> {
    return this.#watch.during("logs", super.follow(log, stream, after, signal));
  }

  /** Wakes the followers of logs. */
  wake(logs: readonly number[]): void {
    for (const log of logs) this.#followers.wake(String(log));
  }

  wakeAll(): void {
    for (const { follower } of this.#followers.all()) follower.wake();
  }
}

function operationsOf(engine: Engine, node: string, read: ReadStream, followers: Followers): LogOperations {
  return {
    read,
    changed: (log) => followers.wake(log),
    create: (log, ...limits) => engine.run("create", toStored(log), ...limits),
    claim: (log, stream) => engine.run("claim", toStored(log), toStored(stream), node),
    append: ({ id, stream, claim }, seq, data, last) =>
      engine.run("append", Number(id), toStored(stream), Number(claim), seq, toStored(data), last ? 1 : 0),
    async find(log, place) {
      const row = await engine.run("find", toStored(log), Number(place.log), Number(place.n));
      return row && fromStored(String(row.stream));
    },
    async open(owner, after) {
      const rows = await engine.run("open", owner, Number(after?.id ?? 0), toStored(after?.stream ?? ""));
      return rows.map(({ id, log, stream }) => ({
        id: String(id),
        log: fromStored(String(log)),
        stream: fromStored(String(stream)),
      }));
    },
    async drop(log) {
      const id = await engine.run("drop", toStored(log));
      return id === undefined ? undefined : String(id);
    },
  };
}

function readStream(engine: Engine): ReadStream {
  return async (log, stream, after, limit = MOST) => {
    const place = after && ([Number(after.log), Number(after.n)] as const);
    const found = await engine.run("read", toStored(log), toStored(stream), place, limit);
    if (found === undefined) return undefined;
    const id = String(found.log);
    return {
      log: id,
      entries: found.entries.map((row) => entryOf(id, row)),
      isKept: found.isKept,
      trimmed: BigInt(found.stream?.trimmed ?? 0),
      isKnown: found.stream !== undefined,
      isEnded: found.stream?.ended === 1,
      top: BigInt(found.stream?.top ?? 0),
    };
  };
}

function entryOf(log: string, { n, data, last, old }: Row): ReadEntry {
  const entry = { id: idOf(log, String(n)), data: fromStored(String(data)), last: last === 1 };
  return { entry, n: String(n), isOld: old === 1 };
}
