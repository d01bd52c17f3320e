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

/** The records of this kind of client, typed, on top of a store. A record of another issuer is as good as none. */
export class AuthRecords {
  constructor(readonly store: AuthStore) {}

  async client(issuer: string): Promise<ClientRecord | undefined> {
    return ofIssuer<ClientRecord>(await this.store.get(`client ${issuer}`), issuer);
  }

  async saveClient(record: ClientRecord): Promise<void> {
    await this.store.set(`client ${record.issuer}`, record);
  }

  async dropClient(issuer: string): Promise<void> {
    await this.store.delete(`client ${issuer}`);
  }

  async tokens(server: string, issuer: string): Promise<TokenRecord | undefined> {
    const record = ofIssuer<TokenRecord>(await this.store.get(`tokens ${server} ${issuer}`), issuer);
    return typeof record?.accessToken === "string" ? record : undefined;
  }

  async saveTokens(server: string, record: TokenRecord): Promise<void> {
    await this.store.set(`tokens ${server} ${record.issuer}`, record);
  }

  async dropTokens(server: string, issuer: string): Promise<void> {
    await this.store.delete(`tokens ${server} ${issuer}`);
  }

  async read<T>(kind: string, name: string): Promise<T | undefined> {
    return (await this.store.get(`${kind} ${name}`)) as T | undefined;
  }

  async write(kind: string, name: string, value: unknown): Promise<void> {
    await this.store.set(`${kind} ${name}`, value);
  }

  async drop(kind: string, name: string): Promise<void> {
    await this.store.delete(`${kind} ${name}`);
  }

  /** Without a lock of the store's own, the single flight of this process is all there is. */
  locked<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.store.lock === undefined ? work() : this.store.lock(name, work, signal);
  }
}

function ofIssuer<T extends { readonly issuer: string }>(value: unknown, issuer: string): T | undefined {
  const record = value as T | undefined | null;
  return record?.issuer === issuer ? record : undefined;
}
