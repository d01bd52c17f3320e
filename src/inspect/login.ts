import { isPrivate } from "../auth/addresses.js";
import type { ClientOptions } from "../client/options.js";
import { type AuthStore, memoryStore, type OAuth, oauth, type TokenRecord } from "../entry/auth-client.js";
import { type Fetch, type FetchInit, globalFetch } from "../http/client/send.js";
import type { Loopback } from "../node/loopback.js";
import { usualFetch, usualGuardedFetch } from "../node/outgoing/usual-fetch.js";
import type { Recording } from "../recording/recording.js";
import { VerbError } from "./failure.js";
import type { HeldToken, LoginState } from "./protocol.js";

/** Time for which a page shows the text of a token. */
const REVEAL_MS = 30_000;

/** What a login writes to and needs. */
export interface LoginEnds {
  readonly recording: Recording;
  readonly onChange: () => void;
}

/**
 * Login at one server over HTTP. Until it begins, requests are sent without a token. Its tokens are in memory and end with
 * the process; the page gets their kind, length and digest.
 */
export class ServerLogin {
  readonly #server: string;
  readonly #own: Fetch | undefined;
  readonly #ends: LoginEnds;
  readonly #store = new TokenStore();
  #oauth: OAuth | undefined;
  #loopback: Loopback | undefined;
  #status: LoginState["status"] = "none";
  #url: string | undefined;

  /** `own` is the `fetch` of the user, which then sends all requests. */
  constructor(server: string, own: Fetch | undefined, ends: LoginEnds) {
    this.#server = server;
    this.#own = own;
    this.#ends = ends;
  }

  get state(): LoginState {
    const { record, tokens } = this.#store;
    return {
      status: this.#status,
      ...(this.#url !== undefined && { url: this.#url }),
      ...(record !== undefined && { issuer: record.issuer }),
      ...(record?.scope !== undefined && { scopes: record.scope.split(" ") }),
      tokens,
    };
  }

  /** Sends a request, with the token if there is one. */
  readonly fetch: Fetch = (url, init) =>
    this.#oauth === undefined ? this.#send(url, init) : this.#oauth.fetch(url, init);

  /** Notes that the server requires a login. */
  require(): void {
    if (this.#status === "none") this.#become("needed");
  }

  /** Lets the next request log in. The page shows the address that the user has to open. */
  async begin(): Promise<void> {
    if (this.#oauth !== undefined) return;
    const { openLoopback } = await import("../node/loopback.js");
    const loopback = await openLoopback({
      open: (url) => {
        this.#url = url.href;
        this.#become("in the browser");
      },
    });
    this.#loopback = loopback;
    this.#oauth = oauth({
      redirectUrl: loopback.redirectUrl,
      authorize: loopback.authorize,
      clientName: "Bowline inspector",
      store: this.#store,
      warnDeprecated: false,
      fetch: (url, init) => this.#sendAuth(url, init),
    });
  }

  /** Notes how the requests since `begin` went. */
  settle(): void {
    this.#url = undefined;
    this.#become(this.#store.record === undefined ? "needed" : "done");
  }

  /** Forgets the tokens, and revokes them where the issuer can. */
  async logout(signal: AbortSignal): Promise<void> {
    await this.#oauth?.logout(this.#server, { signal });
    await this.close();
    this.#store.clear();
    this.#become("none");
  }

  reveal(name: HeldToken["name"]): { readonly text: string; readonly until: number } {
    const { record } = this.#store;
    const text = name === "access" ? record?.accessToken : record?.refreshToken;
    if (text === undefined) throw new VerbError("not_available", `there is no ${name} token`);
    return { text, until: Date.now() + REVEAL_MS };
  }

  async close(): Promise<void> {
    const loopback = this.#loopback;
    this.#loopback = undefined;
    this.#oauth = undefined;
    this.#url = undefined;
    await loopback?.close();
  }

  /** Sends a request of the login, or one to the server with its token. Of the latter, only refusals are steps. */
  async #sendAuth(url: URL, init: FetchInit): Promise<Response> {
    if (!this.#isServer(url)) return this.#steps(url, init);
    const from = performance.now();
    const response = await this.#send(url, init);
    if (response.status === 401 || response.status === 403) {
      const us = Math.round((performance.now() - from) * 1000);
      this.#ends.recording.add({ k: "auth", step: "challenge", url: url.href, status: response.status, us });
    }
    return response;
  }

  /** Sends a request to an authorization server. One that a public server names is not searched on this network. */
  #steps(url: URL, init: FetchInit): Promise<Response> {
    const usual = isPrivate(new URL(this.#server).hostname) ? usualFetch : usualGuardedFetch;
    return this.#ends.recording.authFetch((this.#own ?? usual) as ClientOptions["fetch"])(url, init);
  }

  readonly #send: Fetch = (url, init) => (this.#own ?? init.ownFetch ?? globalFetch)(url, init);

  #isServer({ origin, pathname }: URL): boolean {
    const server = new URL(this.#server);
    return origin === server.origin && !pathname.startsWith("/.well-known/");
  }

  #become(status: LoginState["status"]): void {
    this.#status = status;
    this.#ends.onChange();
  }
}

/** Store of one login in memory, which tells of its tokens without their text. */
class TokenStore implements AuthStore {
  readonly #inner = memoryStore();
  record: TokenRecord | undefined;
  tokens: readonly HeldToken[] = [];

  get(key: string): unknown {
    return this.#inner.get(key);
  }

  async set(key: string, value: unknown): Promise<void> {
    if (key.startsWith("tokens ")) {
      const record = value as TokenRecord;
      this.tokens = await describe(record);
      this.record = record;
    }
    await this.#inner.set(key, value);
  }

  async delete(key: string): Promise<void> {
    if (key.startsWith("tokens ")) this.clear();
    await this.#inner.delete(key);
  }

  clear(): void {
    this.record = undefined;
    this.tokens = [];
  }
}

async function describe({ accessToken, refreshToken, type, expiresAt }: TokenRecord): Promise<readonly HeldToken[]> {
  const shown = type === "dpop" ? "DPoP" : "Bearer";
  const about = async (name: HeldToken["name"], text: string) => ({
    name,
    type: shown,
    length: text.length,
    digest: await digestOf(text),
  });
  const access = { ...(await about("access", accessToken)), ...(expiresAt !== undefined && { expiresAt }) };
  return refreshToken === undefined ? [access] : [access, await about("refresh", refreshToken)];
}

async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
