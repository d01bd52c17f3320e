// A store in the memory of one process, as an example of what an engine has to do.
import {
  ClusterError,
  type DueRecord,
  type Listed,
  type Store,
  type Stored,
  type StoredEntry,
  type StoreEvents,
  type StoreLogLimits,
  type StoreLogs,
  storeCluster,
  takenBy,
} from "bowline/cluster";

interface Row extends Stored {
  expiresAt: number;
  takes: number;
  readonly entries: Map<string, number>;
}

interface Entry extends StoredEntry {
  readonly stream: string;
  readonly seq: number;
  readonly at: number;
}

interface Stream {
  claim: string;
  node: string;
  seq: number;
  top: number;
  trimmed: number;
  isEnded: boolean;
}

interface Log {
  readonly id: string;
  readonly limits: StoreLogLimits;
  readonly streams: Map<string, Stream>;
  entries: Entry[];
  top: number;
  droppedAt: number | undefined;
}

/** The engine: what all processes share. Here they are the stores of one process. */
export class Engine {
  readonly rows = new Map<string, Row>();
  readonly logs = new Map<string, Log>();
  /** Time at which each bucket is full. */
  readonly buckets = new Map<string, number>();
  readonly stores = new Set<MapStore>();
  ids = 0;

  send(text: string): void {
    for (const store of this.stores) queueMicrotask(() => store.events?.onText(text));
  }
}

export class MapStore implements Store {
  events: StoreEvents | undefined;
  readonly #engine: Engine;
  isUp = true;

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.stores.add(this);
  }

  async connect(events: StoreEvents): Promise<void> {
    this.events = events;
  }

  async close(): Promise<void> {
    this.isUp = false;
    this.#engine.stores.delete(this);
  }

  async get(key: string): Promise<Stored | undefined> {
    const row = this.#row(key);
    return row && { key, value: row.value, version: row.version };
  }

  async put(key: string, value: string, options: Parameters<Store["put"]>[2]): Promise<boolean> {
    const { version, ifVersion, ttlMs = Number.POSITIVE_INFINITY, index = [], notice } = options;
    const row = this.#row(key);
    // A put that was carried out and comes again has succeeded.
    if (ifVersion !== undefined && (row?.version ?? null) !== ifVersion) return row?.version === version;
    const entries = index.map((entry) => [entry.index, "score" in entry ? entry.score : now() + entry.inMs] as const);
    const takes = row?.takes ?? 0;
    this.#engine.rows.set(key, { key, value, version, expiresAt: now() + ttlMs, takes, entries: new Map(entries) });
    if (notice !== undefined) this.#engine.send(notice);
    return true;
  }

  async touch(key: string, ttlMs: number, ifVersion?: string): Promise<boolean> {
    const row = this.#row(key, ifVersion);
    if (row !== undefined) row.expiresAt = now() + ttlMs;
    return row !== undefined;
  }

  async delete(key: string, ifVersion?: string): Promise<boolean> {
    return this.#row(key, ifVersion) !== undefined && this.#engine.rows.delete(key);
  }

  async list(index: string, { after, limit }: Parameters<Store["list"]>[1]): Promise<readonly Listed[]> {
    const isAfter = ({ score, key }: Listed) =>
      after === undefined || score > after.score || (score === after.score && key > after.key);
    return this.#listed(index).filter(isAfter).slice(0, limit);
  }

  async count(index: string): Promise<number> {
    return this.#listed(index).length;
  }

  async takeDue(index: string, { most, leaseMs, token }: Parameters<Store["takeDue"]>[1]) {
    const [first, ...rest] = this.#listed(index).slice(0, most);
    if (first === undefined) return undefined;
    if (first.score > now()) return first.score - now();
    const due = [first, ...rest.filter(({ score }) => score <= now())];
    return due.map(({ key, value }): DueRecord => {
      const entries = new Map([
        [index, now() + leaseMs],
        [takenBy(token), 0],
      ]);
      const takes = (this.#row(key)?.takes ?? 0) + 1;
      const expiresAt = Number.POSITIVE_INFINITY;
      this.#engine.rows.set(key, { key, value, version: token, expiresAt, takes, entries });
      return { key, value, version: token, takes };
    });
  }

  async takeTokens(key: string, burst: number, refillMs: number, want: number) {
    this.#assertUp();
    const untilFull = Math.max(0, (this.#engine.buckets.get(key) ?? 0) - now());
    const free = burst - untilFull / refillMs;
    const given = Math.max(0, Math.min(want, Math.floor(free + 1e-6)));
    if (given > 0) this.#engine.buckets.set(key, now() + untilFull + given * refillMs);
    return { given, retryInMs: given > 0 ? 0 : (1 - free) * refillMs };
  }

  async send(texts: readonly string[]): Promise<void> {
    this.#assertUp();
    for (const text of texts) this.#engine.send(text);
  }

  readonly logs: StoreLogs = {
    create: async (name, limits) => {
      this.#assertUp();
      const found = this.#engine.logs.get(name);
      const isBuried = found?.droppedAt !== undefined && found.droppedAt + found.limits.keepMs > now();
      if (found !== undefined && (found.droppedAt === undefined || isBuried)) return !isBuried;
      const id = String(++this.#engine.ids);
      this.#engine.logs.set(name, { id, limits, streams: new Map(), entries: [], top: 0, droppedAt: undefined });
      return true;
    },
    claim: async (name, streamName, node, claim) => {
      const log = this.#log(name);
      if (log === undefined) return undefined;
      const found = log.streams.get(streamName);
      if (found === undefined && log.streams.size >= log.limits.maxStreams) return `full:${log.limits.maxStreams}`;
      const stream = found ?? { claim, node, seq: 0, top: 0, trimmed: 0, isEnded: false };
      log.streams.set(streamName, Object.assign(stream, { claim, node, seq: 0 }));
      return log.id;
    },
    append: async ({ log: name, id, stream: streamName, claim }, seq, entries, notice) => {
      const log = this.#log(name);
      const results: string[] = [];
      for (const [at, { data, last }] of entries.entries()) {
        const stream = log?.id === id ? log.streams.get(streamName) : undefined;
        const result = append(log?.id === id ? log : undefined, streamName, stream, claim, seq + at, data, last);
        results.push(result);
        if (!/^\d+$/.test(result)) break;
      }
      if (log !== undefined) trim(log);
      this.#engine.send(notice);
      return results;
    },
    find: async (name, { id, n, claim }) => {
      const log = this.#log(name);
      return log?.id === id ? log.entries.find((entry) => entry.n === n && entry.claim === claim)?.stream : undefined;
    },
    read: async (name, streamName, after, limit) => {
      const log = this.#log(name);
      if (log === undefined) return undefined;
      const stream = log.streams.get(streamName);
      const own = log.entries.filter((entry) => entry.stream === streamName);
      const isPlace = ({ n, claim }: Entry) => log.id === after?.id && n === after.n && claim === after.claim;
      return {
        id: log.id,
        entries: own.filter(({ n }) => Number(n) > Number(after?.n ?? 0)).slice(0, limit),
        isKept: after === undefined || own.some(isPlace),
        trimmed: String(stream?.trimmed ?? 0),
        isKnown: stream !== undefined,
        isEnded: stream?.isEnded === true,
        top: String(stream?.top ?? 0),
      };
    },
    open: async (node, after) => {
      this.#assertUp();
      const open = [...this.#engine.logs].flatMap(([log, { id, streams, droppedAt }]) =>
        [...streams]
          .filter(([, stream]) => droppedAt === undefined && stream.node === node && !stream.isEnded)
          .map(([stream]) => ({ log, stream, id })),
      );
      return after === undefined ? open : [];
    },
    drop: async (name, notice) => {
      const log = this.#log(name);
      if (log === undefined) return;
      log.droppedAt = now();
      this.#engine.send(notice);
    },
  };

  #assertUp(): void {
    if (!this.isUp) throw new ClusterError("unavailable", "the store is closed");
  }

  #row(key: string, ifVersion?: string): Row | undefined {
    this.#assertUp();
    const row = this.#engine.rows.get(key);
    if (row !== undefined && row.expiresAt <= now()) this.#engine.rows.delete(key);
    else if (ifVersion === undefined || row?.version === ifVersion) return row;
    return undefined;
  }

  #listed(index: string): Listed[] {
    const rows = [...this.#engine.rows.keys()].flatMap((key) => this.#row(key) ?? []);
    this.#assertUp();
    return rows
      .flatMap(({ key, value, version, expiresAt, entries }) => {
        const score = entries.get(index);
        const leftMs = expiresAt === Number.POSITIVE_INFINITY ? undefined : expiresAt - now();
        return score === undefined ? [] : [{ key, value, version, score, leftMs }];
      })
      .sort((one, other) => one.score - other.score || (one.key > other.key ? 1 : -1));
  }

  #log(name: string): Log | undefined {
    this.#assertUp();
    const log = this.#engine.logs.get(name);
    if (log === undefined || log.droppedAt !== undefined) return undefined;
    trim(log);
    return log;
  }
}

function append(
  log: Log | undefined,
  streamName: string,
  stream: Stream | undefined,
  claim: string,
  seq: number,
  data: string,
  last: boolean,
): string {
  if (log === undefined) return "dropped";
  if (stream?.claim !== claim) return "fenced";
  if (seq < stream.seq) {
    const entry = log.entries.find((one) => one.stream === streamName && one.claim === claim && one.seq === seq);
    if (entry === undefined) return "missed";
    return entry.data === data && entry.last === last ? entry.n : `different:${stream.seq}`;
  }
  if (stream.isEnded) return "ended";
  if (seq > stream.seq) return `order:${stream.seq}`;
  const n = String(++log.top);
  log.entries.push({ n, claim, data, last, stream: streamName, seq, at: now() });
  Object.assign(stream, { seq: seq + 1, top: log.top, isEnded: last });
  return n;
}

/** Drops the oldest entries of a log that are too old or too many. The newest stays, unless it is too old. */
function trim(log: Log): void {
  const { keepMs, maxEntries, maxBytes } = log.limits;
  for (let [first] = log.entries; first !== undefined; [first] = log.entries) {
    const bytes = log.entries.reduce((sum, { data }) => sum + data.length, 0);
    const fits = log.entries.length === 1 || (log.entries.length <= maxEntries && bytes <= maxBytes);
    if (fits && first.at + keepMs > now()) return;
    log.entries.shift();
    const stream = log.streams.get(first.stream);
    if (stream !== undefined) stream.trimmed = Number(first.n);
    if (first.last) log.streams.delete(first.stream);
  }
}

function now(): number {
  return performance.now();
}

/** Creates clusters that share one engine, each as a process would. */
export function createProcesses(count: number) {
  const engine = new Engine();
  return Array.from({ length: count }, () => storeCluster(new MapStore(engine)));
}
