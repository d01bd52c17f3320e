import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { AuthStore, TokenRecord } from "../../auth/client/store.js";
import { fileStore } from "../../node/files/store.js";
import { fileNameFor } from "../folders.js";
import type { Io } from "../io.js";
import { loginsFolder, serverFile, serverFiles } from "./place.js";

/** How the user logged in, for later commands. */
export interface LoginOptions {
  readonly clientId?: string | undefined;
  readonly issuer?: string | undefined;
  readonly scope?: string | undefined;
  readonly dpop?: boolean | undefined;
}

/** Login at a server, without its tokens. */
export interface Login {
  readonly server: string;
  readonly issuer: string;
  readonly scope: string | undefined;
  readonly type: "bearer" | "dpop";
  /** True if the tokens are renewed without the user. */
  readonly renewable: boolean;
  readonly expiresAt: number | undefined;
}

/**
 * Tokens, clients and keys in encrypted files: one for each issuer, and one for each server with what leads to its issuer.
 * Attempts of a login are kept in memory.
 */
export class LoginStore implements AuthStore {
  readonly textOnly = true;
  readonly #io: Io;
  readonly #secret: string;
  readonly #files = new Map<string, AuthStore>();
  readonly #attempts = new Map<string, unknown>();

  constructor(io: Io, secret: string) {
    this.#io = io;
    this.#secret = secret;
  }

  get(key: string): unknown {
    return isAttempt(key) ? this.#attempts.get(key) : this.#fileOf(key).get(key);
  }

  async set(key: string, value: unknown): Promise<void> {
    if (isAttempt(key)) return void this.#attempts.set(key, value);
    await this.#fileOf(key).set(key, value);
  }

  async delete(key: string): Promise<void> {
    if (isAttempt(key)) return void this.#attempts.delete(key);
    await this.#fileOf(key).delete(key);
  }

  lock<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#fileOf(name).lock!(name, work, signal);
  }

  async options(server: string): Promise<LoginOptions> {
    return ((await this.#serverFile(server).get("options")) ?? {}) as LoginOptions;
  }

  async keepOptions(server: string, options: LoginOptions): Promise<void> {
    await this.#serverFile(server).set("options", options);
  }

  /** Returns the login at a server, or undefined if there are no tokens for it. */
  async login(server: string): Promise<Login | undefined> {
    const guard = (await this.get(`guard ${server}`)) as { readonly issuer: string } | undefined;
    if (guard === undefined) return undefined;
    const tokens = (await this.get(`tokens ${server} ${guard.issuer}`)) as TokenRecord | undefined;
    if (tokens === undefined) return undefined;
    const { issuer, scope, type, expiresAt, refreshToken } = tokens;
    return { server, issuer, scope, type, expiresAt, renewable: refreshToken !== undefined };
  }

  /** Returns all logins. */
  async logins(): Promise<readonly Login[]> {
    const found: Login[] = [];
    for (const name of await serverFiles(this.#io)) {
      const server = await this.#open(name).get("server");
      const login = typeof server === "string" ? await this.login(server) : undefined;
      if (login !== undefined) found.push(login);
    }
    return found.sort((one, two) => (one.server < two.server ? -1 : 1));
  }

  /** Forgets what leads from a server to its issuer. */
  async forget(server: string): Promise<void> {
    await rm(join(loginsFolder(this.#io), serverFile(server)), { force: true });
    this.#files.clear();
  }

  #fileOf(key: string): AuthStore {
    const [, kind = "", rest = ""] = /^(\S+) (.*)$/s.exec(key) ?? [];
    if (kind === "guard" || kind === "refresh") return this.#serverFile(rest);
    // The key of tokens ends with their issuer, after that of the server.
    const issuer = kind === "tokens" ? rest.slice(rest.lastIndexOf(" ") + 1) : rest;
    return this.#open(join("issuers", fileNameFor(issuer)));
  }

  #serverFile(server: string): AuthStore {
    const file = this.#open(serverFile(server));
    return {
      ...file,
      set: async (key, value) => {
        await file.set("server", server);
        await file.set(key, value);
      },
    };
  }

  #open(name: string): AuthStore {
    const file = this.#files.get(name) ?? fileStore(join(loginsFolder(this.#io), name), this.#secret);
    this.#files.set(name, file);
    return file;
  }
}

function isAttempt(key: string): boolean {
  return key.startsWith("attempt ") || key.startsWith("attempts ");
}

/** Deletes the files of all logins. */
export async function removeLogins(io: Io): Promise<void> {
  await rm(loginsFolder(io), { recursive: true, force: true });
}
