import type { Clock } from "../call/clock.js";
import type { IndexPlace, Listed, Stored } from "../cluster/cluster.js";
import { hexDigits } from "../cluster/operations.js";
import {
  type DueRecord,
  type Store,
  type StoreEntry,
  type StoreEvents,
  type StoreLogs,
  type StorePut,
  type TakeDue,
  type TakenTokens,
  takenBy,
} from "../cluster/store.js";
import { type RedisClient, RedisConnections } from "./connection.js";
import { APPEND, CLAIM, CREATE, DROP, FIND, OPEN, READ } from "./log-scripts.js";
import { COUNT, DELETE, GET, LIST, PUT, TAKE_DUE, TOUCH } from "./record-scripts.js";
import { delayOf, lifeOf, type Script, SEND, TAKE_TOKENS } from "./scripts.js";
import { examine } from "./start.js";

const RECORD_SCRIPTS = [GET, PUT, TOUCH, DELETE, LIST, COUNT, TAKE_DUE];
const LOG_SCRIPTS = [CREATE, CLAIM, APPEND, FIND, READ, OPEN, DROP];
const SCRIPTS = [...RECORD_SCRIPTS, ...LOG_SCRIPTS, TAKE_TOKENS, SEND];

/** Length of the id of a log. It is random, so that a server that has lost writes does not get it twice. */
const ID_DIGITS = 12;

export interface RedisStoreOptions {
  readonly client: RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Is told of settings of the server that can lose state. */
  warn(message: string): void;
}

/** Store in a Redis server. Each operation is a script. */
export class RedisStore implements Store {
  readonly #options: RedisStoreOptions;
  #connections: RedisConnections | undefined;

  constructor(options: RedisStoreOptions) {
    this.#options = options;
  }

  async connect(events: StoreEvents): Promise<void> {
    const { prefix, warn } = this.#options;
    this.#connections = new RedisConnections({
      ...this.#options,
      events,
      scripts: SCRIPTS,
      examine: (command) => examine(command, { prefix, warn }),
    });
    await this.#connections.tried("start");
  }

  get isUp(): boolean {
    return this.#connections?.isUp === true;
  }

  async close(): Promise<void> {
    await this.#connections?.close();
  }

  async get(key: string): Promise<Stored | undefined> {
    const [value, version] = await this.#run<readonly (string | null)[]>(GET, key);
    return value == null || version == null ? undefined : { key, value, version };
  }

  async put(key: string, value: string, options: StorePut): Promise<boolean> {
    const { version, ifVersion, ttlMs, index = [], notice } = options;
    const condition = ifVersion === undefined ? "any" : ifVersion === null ? "none" : "version";
    const life = ttlMs === undefined ? "" : lifeOf(ttlMs);
    const rest = [...index.flatMap(partsOf), ...(notice === undefined ? [] : [notice])];
    return (await this.#run(PUT, key, value, version, condition, ifVersion ?? "", life, index.length, ...rest)) === 1;
  }

  async touch(key: string, ttlMs: number, ifVersion = ""): Promise<boolean> {
    return (await this.#run(TOUCH, key, lifeOf(ttlMs), ifVersion)) === 1;
  }

  async delete(key: string, ifVersion = ""): Promise<boolean> {
    return (await this.#run(DELETE, key, ifVersion)) === 1;
  }

  async list(
    index: string,
    { after, limit }: { readonly after?: IndexPlace | undefined; readonly limit: number },
  ): Promise<readonly Listed[]> {
    const place = after === undefined ? [] : [after.score, after.key];
    const flat = await this.#runWhole<readonly string[]>(LIST, index, limit, ...place);
    return groupsOf(flat, 5).map(([key = "", score, value = "", version = "", left]) => {
      return { key, value, version, score: Number(score), leftMs: left === "" ? undefined : Number(left) };
    });
  }

  count(index: string): Promise<number> {
    return this.#runWhole(COUNT, index);
  }

  async takeDue(index: string, { most, leaseMs, token }: TakeDue): Promise<readonly DueRecord[] | number | undefined> {
    const args = [index, most, lifeOf(leaseMs), token, takenBy(token)];
    const flat = await this.#runWhole<readonly string[]>(TAKE_DUE, ...args);
    if (flat.length <= 1) return flat[0] === undefined ? undefined : Number(flat[0]);
    return groupsOf(flat, 3).map(([key = "", value = "", takes]) => {
      return { key, value, version: token, takes: Number(takes) };
    });
  }

  async takeTokens(key: string, burst: number, refillMs: number, want: number): Promise<TakenTokens> {
    const [given, retryInMs] = await this.#run<readonly string[]>(TAKE_TOKENS, key, burst, refillMs, want);
    return { given: Number(given), retryInMs: Number(retryInMs) };
  }

  readonly logs: StoreLogs = {
    create: async (log, { keepMs, maxEntries, maxBytes, maxStreams }) => {
      const limits = [lifeOf(keepMs), maxEntries, maxBytes, maxStreams];
      return (await this.#run(CREATE, log, hexDigits(ID_DIGITS), ...limits)) === 1;
    },
    claim: async (log, stream, node, claim) =>
      (await this.#run<string | null>(CLAIM, log, stream, node, claim)) ?? undefined,
    append: ({ log, id, stream, claim }, seq, entries, notice) => {
      const parts = entries.flatMap(({ data, last }) => [data, last ? 1 : 0]);
      return this.#run(APPEND, log, id, stream, claim, seq, notice, ...parts);
    },
    find: async (log, { id, n, claim }) => (await this.#run<string | null>(FIND, log, id, n, claim)) ?? undefined,
    read: async (log, stream, after, limit) => {
      const place = after === undefined ? [] : [after.id, after.n, after.claim];
      return pageOf(await this.#run<readonly string[]>(READ, log, stream, limit, ...place));
    },
    open: async (node, after) => {
      const place = after === undefined ? [] : [after.log, after.stream, after.id];
      const flat = await this.#run<readonly string[]>(OPEN, node, ...place);
      return groupsOf(flat, 3).map(([log = "", stream = "", id = ""]) => ({ log, stream, id }));
    },
    drop: (log, notice) => this.#run(DROP, log, notice),
  };

  async send(texts: readonly string[]): Promise<void> {
    await this.#connections?.tried("send");
    await this.#run(SEND, ...texts);
  }

  listenAgain(): void {
    this.#connections?.listenAgain();
  }

  #run<T>(script: Script, ...args: readonly (string | number)[]): Promise<T> {
    return (this.#connections as RedisConnections).run(script, args);
  }

  /** Runs a script that removes a part of what has ended, and returns nothing while there is more of it. */
  async #runWhole<T>(script: Script, ...args: readonly (string | number)[]): Promise<T> {
    for (;;) {
      const reply = await this.#run<T | null>(script, ...args);
      if (reply !== null) return reply;
    }
  }
}

function partsOf(entry: StoreEntry): readonly (string | number)[] {
  return "score" in entry ? [entry.index, "at", entry.score] : [entry.index, "in", delayOf(entry.inMs)];
}

function pageOf([id, isKept, isKnown, trimmed = "", isEnded, top = "", ...flat]: readonly string[]) {
  if (id === undefined) return undefined;
  const entries = groupsOf(flat, 4).map(([n = "", claim = "", data = "", last]) => {
    return { n, claim, data, last: last === "1" };
  });
  return { id, entries, isKept: isKept === "1", trimmed, isKnown: isKnown === "1", isEnded: isEnded === "1", top };
}

function groupsOf(flat: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: flat.length / size }, (_, at) => flat.slice(at * size, (at + 1) * size));
}
