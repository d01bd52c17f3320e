import { AuthError } from "../../protocol/auth-error.js";
import { McpError } from "../../protocol/errors.js";
import { messageOf } from "../../protocol/text.js";
import { orAborted } from "../abortable.js";

/**
 * Storage of clients, tokens and attempts. Keys are opaque strings. Values are plain data; a store that is not
 * `textOnly` also gets Web Crypto keys. All content is secret.
 */
export interface AuthStore {
  /**
   * True if the store keeps only values that JSON can represent.
   * @default false
   */
  readonly textOnly?: boolean | undefined;
  get(key: string): unknown;
  set(key: string, value: unknown): void | Promise<void>;
  delete(key: string): void | Promise<void>;
  /** Runs `work` while no other work with the same name runs in any process that shares the store. */
  lock?<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Creates a store in memory, whose content ends with the process. */
export function memoryStore(): AuthStore {
  const values = new Map<string, unknown>();
  return {
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  };
}

/** Registration of the client at one authorization server. */
export interface ClientRecord {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** Expiry of the secret in seconds since 1970; 0 or undefined for never. */
  readonly secretExpiresAt?: number | undefined;
  readonly method: string;
  readonly redirectUris?: readonly string[] | undefined;
}

/** Tokens for one MCP server. */
export interface TokenRecord {
  readonly issuer: string;
  readonly clientId: string | undefined;
  readonly accessToken: string;
  readonly type: "bearer" | "dpop";
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
  /** Time of the response in milliseconds since 1970. */
  readonly obtainedAt: number;
  /** Expiry of the access token in milliseconds since 1970; undefined if unknown. */
  readonly expiresAt?: number | undefined;
}

/**
 * Typed records in a store. Clients and tokens of another issuer count as absent. An error of the store is wrapped in
 * an `AuthError`.
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
    await withStoreError("written", () => this.store.set(`${kind} ${name}`, value));
  }

  async drop(kind: string, name: string): Promise<void> {
    await withStoreError("written", () => this.store.delete(`${kind} ${name}`));
  }

  /** Runs `work` exclusively: within this process, and among all processes that share the store if it has a lock. */
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
    throw new AuthError("store", `The token store cannot be ${what}: ${messageOf(cause)}`, { cause });
  }
}

function ofIssuer<T extends { readonly issuer: string }>(value: unknown, issuer: string): T | undefined {
  const record = value as T | undefined | null;
  return record?.issuer === issuer ? record : undefined;
}
