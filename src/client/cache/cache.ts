import type { AbortSwitch } from "../../call/abort-switch.js";
import { untilAborted } from "../../call/abortable.js";
import type { Clock } from "../../call/clock.js";
import type { CallLifetime } from "../../call/lifetime.js";
import type { ClientResult, Connection, ConnectionCall } from "../../era/client-era.js";
import type { ClientLimits } from "../../era/client-limits.js";
import { DefinitionError, RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS } from "../../protocol/jsonrpc/errors.js";
import type { Known } from "../../protocol/known-options.js";
import { mustBe } from "../../protocol/text.js";
import type { Change } from "../../store/change-bus.js";
import { GuardedStore } from "./guarded-store.js";
import { type CachedResult, type CacheRecord, type CacheStore, MemoryCacheStore } from "./store.js";

/** `use` returns fresh results, `refresh` fetches and stores, `bypass` fetches without storing. */
export type CacheMode = "use" | "refresh" | "bypass";

/** Options of the cache. */
export interface ClientCacheOptions {
  /**
   * Store of results, which several clients may share. Requires `partition`.
   * @default a store in memory
   */
  readonly store?: CacheStore | undefined;
  /** Identifies the authorization of the results, such as the user. Other partitions do not get them. */
  readonly partition?: (string | (() => string)) | undefined;
  /**
   * Shares results that servers mark as public between partitions.
   * @default false
   */
  readonly sharePublic?: boolean | undefined;
  /**
   * Time that results stay fresh if the server does not say.
   * @default 0
   */
  readonly defaultTtlMs?: number | undefined;
  /**
   * Maximum time that a result stays fresh.
   * @default 86_400_000
   */
  readonly maxTtlMs?: number | undefined;
  /**
   * Returns an outdated result, marked by `bowline/stale` in `_meta`, if fetching fails.
   * @default false
   */
  readonly staleOnError?: boolean | undefined;
}

export const CACHE_OPTIONS: Known<ClientCacheOptions> = {
  store: "object",
  partition: [{ string: "any", function: "any" }],
  sharePublic: "boolean",
  defaultTtlMs: "ms",
  maxTtlMs: "ms",
  staleOnError: "boolean",
};

/** Throws for invalid options, before connecting. */
export function assertCacheOptions({ store, partition }: ClientCacheOptions): void {
  if (store === undefined || partition !== undefined) return;
  throw new DefinitionError("cache: store requires partition, which keeps users apart");
}

/** Parts of the client that the cache uses. */
export interface CachingClient {
  readonly connection: Connection;
  /** Identifies the server of the connection. */
  readonly address: string;
  readonly now: () => number;
  readonly clock: Clock;
  readonly limits: ClientLimits;
  readonly onProblem: (problem: Error) => void;
}

/** Statistics of the cache. */
export interface CacheStats {
  /** Results that were returned without a request. */
  readonly hits: number;
  /** Listings and reads that sent a request. */
  readonly misses: number;
  /** Results that were stored. */
  readonly stored: number;
  /** Changes that the server reported. Each removes the results that it makes outdated. */
  readonly invalidated: number;
}

/** Place of a result in the store. */
interface Slot {
  readonly method: string;
  /** Key of this partition, and key that all partitions share. */
  readonly own: string;
  readonly shared: string;
  readonly part: string;
  readonly kind: "list" | "read";
  readonly uri: string | undefined;
}

type Found = { readonly kept: CachedResult; readonly fresh: boolean } | undefined;

const DAY_MS = 86_400_000;
const MOST_PAGES = 1000;
const STALE_KEY = "bowline/stale";
const LISTS: readonly string[] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
const CHANGED: { readonly [kind: string]: readonly string[] } = {
  tools: ["tools/list"],
  prompts: ["prompts/list"],
  resources: ["resources/list", "resources/templates/list"],
};

/** Caches results for as long as their server or the options say. Removes them when the server reports a change. */
export class ClientCache {
  readonly #options: ClientCacheOptions;
  readonly #client: CachingClient;
  readonly #store: GuardedStore;
  readonly #inFlight = new Set<{ readonly slot: Slot; outdated: boolean }>();
  readonly #stats = { hits: 0, misses: 0, stored: 0, invalidated: 0 };

  constructor(options: ClientCacheOptions, client: CachingClient) {
    this.#options = options;
    this.#client = client;
    this.#store = new GuardedStore(
      options.store ?? new MemoryCacheStore(client.limits.maxCacheEntries, client.limits.maxCacheChars),
      client.clock,
      client.onProblem,
    );
  }

  get stats(): CacheStats {
    return { ...this.#stats };
  }

  /** Returns a fresh cached result, or sends the request. Does not wait for the store after the lifetime has ended. */
  through(call: ConnectionCall, lifetime: CallLifetime, connection: Pick<Connection, "call">): Promise<ClientResult> {
    const { cache: mode = "use" } = call;
    const slot = mode === "bypass" ? undefined : this.#slotOf(call);
    if (slot === undefined) return connection.call(call, lifetime);
    return this.#lookUp(slot, mode, lifetime, () => connection.call(call, lifetime));
  }

  async #lookUp(
    slot: Slot,
    mode: NonNullable<ConnectionCall["cache"]>,
    lifetime: AbortSwitch,
    send: () => Promise<ClientResult>,
  ): Promise<ClientResult> {
    const found = await untilAborted(this.#find(slot), lifetime);
    if (mode === "use" && found?.fresh === true) {
      this.#stats.hits++;
      return structuredClone(found.kept.result);
    }
    this.#stats.misses++;
    return this.#fetch(slot, found, lifetime, send);
  }

  /** Removes the results that a change makes outdated. Results of requests in progress are not stored. */
  invalidate(change: Change): void {
    const methods = change.kind === "resource" ? ["resources/read"] : (CHANGED[change.kind] ?? []);
    const uri = change.kind === "resource" ? change.uri : undefined;
    this.#stats.invalidated++;
    for (const method of methods) this.#drop(this.#slot(method, uri, ""));
  }

  async #fetch(
    slot: Slot,
    found: Found,
    lifetime: AbortSwitch,
    send: () => Promise<ClientResult>,
  ): Promise<ClientResult> {
    const flight = { slot, outdated: false };
    this.#inFlight.add(flight);
    try {
      const result = await send();
      if (!flight.outdated && (result.resultType ?? "complete") === "complete") {
        await untilAborted(this.#keep(slot, result), lifetime);
      }
      return result;
    } catch (error) {
      if (slot.part !== "" && error instanceof RpcError && error.rpcCode === INVALID_PARAMS) this.#drop(slot);
      if (found === undefined || this.#options.staleOnError !== true) throw error;
      const old = structuredClone(found.kept.result);
      return { ...old, _meta: { ...(old._meta as object | undefined), [STALE_KEY]: true } };
    } finally {
      this.#inFlight.delete(flight);
    }
  }

  /** Removes the list of tools if the server refused a tool's name or arguments, since the list may be outdated. */
  noteFailure({ method }: ConnectionCall, error: unknown): void {
    if (method !== "tools/call" || !(error instanceof RpcError)) return;
    const refused = error.rpcCode === INVALID_PARAMS || this.#client.connection.era.isOfOldListing(error);
    if (refused) this.invalidate({ kind: "tools" });
  }

  async #find(slot: Slot): Promise<Found> {
    const findProblem = (record: CacheRecord) => this.#problemOf(slot, record);
    const own = partOf(await this.#store.get(slot.own, findProblem), slot.part);
    const kept =
      own === undefined && this.#options.sharePublic === true
        ? partOf(await this.#store.get(slot.shared, findProblem), slot.part)
        : own;
    if (kept === undefined) return undefined;
    const age = this.#client.now() - kept.storedAt;
    return { kept, fresh: age >= 0 && age < kept.ttlMs };
  }

  /** Checks a result from a store of the author as one of the server is checked. Other programs may write there. */
  #problemOf({ method, part }: Slot, record: CacheRecord): string | undefined {
    const result = this.#options.store === undefined ? undefined : partOf(record, part)?.result;
    if (result === undefined) return undefined;
    if ((result.resultType ?? "complete") !== "complete") return `${method}: resultType must be "complete"`;
    const problem = this.#client.connection.problemOf?.(method, result);
    return problem && `${method}: ${mustBe(problem)}`;
  }

  async #keep(slot: Slot, result: ClientResult): Promise<void> {
    const ttlMs = this.#ttlOf(slot.method, result.ttlMs);
    const isShared = this.#options.sharePublic === true && result.cacheScope === "public";
    const [key, other] = isShared ? [slot.shared, slot.own] : [slot.own, slot.shared];
    const keeps = ttlMs > 0 || this.#options.staleOnError === true;
    const kept = { result: keeps ? structuredClone(result) : result, storedAt: this.#client.now(), ttlMs };
    await this.#write(key, slot, keeps ? kept : undefined);
    if (this.#options.sharePublic === true) await this.#write(other, slot, undefined);
    if (keeps) this.#stats.stored++;
  }

  /** Stores or removes one part of a record. Keeps the other parts, up to `MOST_PAGES`. */
  async #write(key: string, slot: Slot, kept: CachedResult | undefined): Promise<void> {
    const got = this.#store.get(key);
    // With a synchronous store, nothing else runs between reading and writing.
    const record = (got instanceof Promise ? await got : got) ?? [];
    const others = record.filter(([part]) => part !== slot.part);
    if (kept !== undefined) await this.#store.set(key, [...others.slice(1 - MOST_PAGES), [slot.part, kept]], slot.kind);
    else if (others.length === record.length) return;
    else if (others.length > 0) await this.#store.set(key, others, slot.kind);
    else await this.#store.delete(key);
  }

  #drop(slot: Slot): void {
    for (const flight of this.#inFlight) {
      if (flight.slot.method === slot.method && flight.slot.uri === slot.uri) flight.outdated = true;
    }
    void this.#store.delete(slot.own);
    if (this.#options.sharePublic === true) void this.#store.delete(slot.shared);
  }

  #ttlOf(method: string, hinted: unknown): number {
    const { defaultTtlMs = 0, maxTtlMs = DAY_MS } = this.#options;
    const said = this.#client.connection.era.isCacheable(method) ? hinted : undefined;
    if (said === undefined) return Math.min(defaultTtlMs, maxTtlMs);
    return typeof said === "number" && Number.isFinite(said) && said > 0 ? Math.min(said, maxTtlMs) : 0;
  }

  /** Returns undefined for a call whose result is never cached. */
  #slotOf({ method, params = {} }: ConnectionCall): Slot | undefined {
    const { _meta, cursor, uri, ...rest } = params;
    if (Object.keys(rest).length > 0) return undefined;
    if (LISTS.includes(method) && uri === undefined) return this.#slot(method, undefined, cursorPart(cursor));
    if (method === "resources/read" && typeof uri === "string" && cursor === undefined)
      return this.#slot(method, uri, "");
    return undefined;
  }

  #slot(method: string, uri: string | undefined, part: string): Slot {
    const { partition = "" } = this.#options;
    const who = typeof partition === "function" ? partition() : partition;
    const { connection, address } = this.#client;
    const { version, info } = connection.server;
    const server = JSON.stringify([address, version, info?.name, info?.version]);
    const what = [server, method, uri ?? null];
    return {
      method,
      own: JSON.stringify(["own", who, ...what]),
      shared: JSON.stringify(["shared", null, ...what]),
      part,
      kind: uri === undefined ? "list" : "read",
      uri,
    };
  }
}

/** Returns the part of a page. The first page has no cursor, which differs from an empty cursor. */
function cursorPart(cursor: unknown): string {
  return cursor === undefined ? "" : JSON.stringify(cursor);
}

function partOf(record: CacheRecord | undefined, part: string): CachedResult | undefined {
  return record?.find(([name]) => name === part)?.[1];
}
