import { AuthError } from "../../protocol/auth-error.js";
import { McpError } from "../../protocol/errors.js";
import { messageOf } from "../../protocol/text.js";
import { orAborted } from "../abortable.js";

/**
 * Where clients, tokens and started attempts are kept. Keys are opaque text; values are plain data, except that a store
 * which is not `textOnly` is also given keys of Web Crypto. Everything in it is secret.
 */
export interface AuthStore {
  /** True when only values that survive JSON can be kept. */
  readonly textOnly?: boolean;
  get(key: string): unknown;
  set(key: string, value: unknown): void | Promise<void>;
  delete(key: string): void | Promise<void>;
  /** Runs `work` while nobody else who shares the store, in this process or another, runs any under the same name. */
  lock?<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Keeps everything in this process, and only as long as it lives. */
export function createMemoryStore(): AuthStore {
  const values = new Map<string, unknown>();
  return {
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  };
}

/** What is known of a client at one authorization server. */
export interface ClientRecord {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** When the secret ends, in seconds; 0 or nothing for never. */
  readonly secretExpiresAt?: number | undefined;
  readonly method: string;
  readonly redirectUris?: readonly string[] | undefined;
}

export interface TokenRecord {
  readonly issuer: string;
  readonly clientId: string | undefined;
  readonly accessToken: string;
  readonly type: "bearer" | "dpop";
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
  /** When it was got and when it ends, in milliseconds since 1970. */
  readonly obtainedAt: number;
  readonly expiresAt?: number | undefined;
}

/**
 * The records of this kind of client, typed, on top of a store. A record of another issuer is as good as none. A store that
 * fails is told by an `AuthError` with its own error as the cause.
 */
export class AuthRecords {
  readonly #busy = new Map<string, Promise<unknown>>();

  constructor(readonly store: AuthStore) {}

  async client(issuer: string): Promise<ClientRecord | undefined> {
    return ofIssuer<ClientRecord>(await this.read("client", issuer), issuer);
  }

  async saveClient(record: ClientRecord): Promise<void> {
    await this.write("client", record.issuer, record);
  }

  async dropClient(issuer: string): Promise<void> {
    await this.drop("client", issuer);
  }

  async tokens(server: string, issuer: string): Promise<TokenRecord | undefined> {
    const record = ofIssuer<TokenRecord>(await this.read("tokens", `${server} ${issuer}`), issuer);
    return typeof record?.accessToken === "string" ? record : undefined;
  }

  async saveTokens(server: string, record: TokenRecord): Promise<void> {
    await this.write("tokens", `${server} ${record.issuer}`, record);
  }

  async dropTokens(server: string, issuer: string): Promise<void> {
    await this.drop("tokens", `${server} ${issuer}`);
  }

  async read<T>(kind: string, name: string): Promise<T | undefined> {
    return (await withStoreError("read", () => this.store.get(`${kind} ${name}`))) as T | undefined;
  }

  async write(kind: string, name: string, value: unknown): Promise<void> {
    await withStoreError("changed", () => this.store.set(`${kind} ${name}`, value));
  }

  async drop(kind: string, name: string): Promise<void> {
    await withStoreError("changed", () => this.store.delete(`${kind} ${name}`));
  }

  /** Runs `work` alone: in this client always, among all who share the store if that has a lock. */
  async locked<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let busy = this.#busy.get(name); busy !== undefined; busy = this.#busy.get(name)) {
      await orAborted(
        busy.catch(() => {}),
        signal,
      );
    }
    signal.throwIfAborted();
    const bounded = () => orAborted(work(), signal);
    const run = this.store.lock === undefined ? bounded() : this.#lockStore(name, bounded, signal);
    this.#busy.set(name, run);
    try {
      return await run;
    } finally {
      this.#busy.delete(name);
    }
  }

  async #lockStore<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    let failure: { readonly error: unknown } | undefined;
    const watched = () =>
      work().catch((error: unknown) => {
        failure = { error };
        throw error;
      });
    return (await withStoreError("locked", async () => await this.store.lock?.(name, watched, signal)).catch(
      (error: unknown) => {
        throw failure === undefined ? (signal.aborted ? signal.reason : error) : failure.error;
      },
    )) as T;
  }
}

async function withStoreError<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof McpError) throw cause;
    throw new AuthError("store", `The store of tokens cannot be ${what}: ${messageOf(cause)}`, { cause });
  }
}

function ofIssuer<T extends { readonly issuer: string }>(value: unknown, issuer: string): T | undefined {
  const record = value as T | undefined | null;
  return record?.issuer === issuer ? record : undefined;
}
