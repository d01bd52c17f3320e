import { AuthError } from "../../protocol/auth-error.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import { includesScopes, selectScope } from "../scopes.js";
import { NO_CHALLENGE, type TokenChallenge } from "./challenge.js";
import type { Attempt } from "./code-flow.js";
import { type Discovery, discover } from "./discover.js";
import type { Identity } from "./identify.js";
import type { Settings } from "./settings.js";
import { AuthRuns, type SharedRun } from "./shared-run.js";
import type { AuthRecords, TokenRecord } from "./store.js";
import { isUnknownClient, TokenFlows } from "./token-flows.js";

/**
 * Maximum time before expiry at which tokens are renewed. For tokens that live less than five minutes it is a tenth of
 * their lifetime.
 */
const MARGIN_MS = 30_000;

/** State of the authorization at one MCP server. */
export class ServerAuth {
  /**
   * Access token with which an operation was rejected for lack of scope, by operation. As long as the token is the
   * same, no more scope is requested for that operation.
   */
  readonly futile = new Map<string, string>();
  /** Number of requests under way. */
  users = 0;
  readonly key: string;
  readonly #server: URL;
  readonly #settings: Settings;
  readonly #http: OAuthHttp;
  readonly #records: AuthRecords;
  readonly #flows: TokenFlows;
  #discovery: Discovery | undefined;
  #tokens: TokenRecord | undefined;
  readonly #runs: AuthRuns<TokenRecord | undefined>;
  /** Access token that could not be renewed before its expiry. It is used until it expires. */
  #spared: string | undefined;
  /** Authorization responses that are being exchanged for tokens, by state. */
  readonly #finishing = new Map<string, SharedRun<TokenRecord>>();
  /** Write of tokens to the store that is under way. */
  #saving: Promise<void> | undefined;

  constructor(server: URL, settings: Settings) {
    this.#server = server;
    this.key = server.href;
    this.#settings = settings;
    this.#http = settings.httpFor(server);
    this.#records = settings.records;
    this.#flows = new TokenFlows(this.key, settings, this.#http);
    const { deadlineMs, now } = settings;
    this.#runs = new AuthRuns({ what: `Authorization at ${server.origin}`, deadlineMs, now });
  }

  /**
   * Returns the tokens to send, renewed if they are about to expire and can be renewed. Returns undefined if there are
   * none, or if the refresh token was rejected.
   */
  async current(signal: AbortSignal | undefined): Promise<TokenRecord | undefined> {
    if (this.#tokens === undefined) await this.#load();
    const held = this.#tokens;
    if (held === undefined || !this.#isDue(held)) return held;
    const renewable = held.refreshToken !== undefined || this.#settings.grant !== undefined;
    if (!renewable || (this.#spared === held.accessToken && !this.#hasEnded(held))) return held;
    try {
      return await this.#share(undefined, (run) => this.#renewDue(held, run), signal);
    } catch (error) {
      if (this.#hasEnded(held) || signal?.aborted === true) throw error;
      this.#spared = held.accessToken;
      return held;
    }
  }

  /**
   * Number of shared runs that have ended. If one ends after a request was sent, its failure holds for that request.
   */
  get mark(): number {
    return this.#runs.mark;
  }

  /**
   * Returns new tokens after the server rejected `used` in a request that was sent at `mark`. With `refresh`, a refresh
   * token is tried first.
   */
  async renew(
    used: TokenRecord | undefined,
    challenge: TokenChallenge,
    { refresh, mark, signal }: { refresh: boolean; mark: number; signal: AbortSignal | undefined },
  ): Promise<TokenRecord | undefined> {
    const held = this.#tokens;
    // Skips tokens that are due. Those whose refresh was refused are kept only for their scope.
    if (held !== undefined && !this.#isDue(held) && isNewAndEnough(held, used, challenge)) return held;
    this.#runs.throwFailureSince(mark);
    return await this.#share(challenge.scope, (run) => this.#renew(used, challenge, refresh, run), signal);
  }

  /** Completes an attempt that was started earlier, in this process or another. */
  async finish(attempt: Attempt, params: URLSearchParams, signal: AbortSignal | undefined): Promise<void> {
    await this.#load();
    if (this.#discovery !== undefined && this.#discovery.issuer !== attempt.discovery.issuer) {
      throw new AuthError(
        "issuer",
        `The MCP server now uses ${this.#discovery.issuer}, not ${attempt.discovery.issuer}; authorize again`,
      );
    }
    this.#discovery = attempt.discovery;
    const { state } = attempt;
    const work = async (run: AuthRun) => await this.#keep(await this.#flows.finish(attempt, params, run), run);
    // Runs beside the shared run, which may be waiting for this user. A response that arrives twice is exchanged once.
    const finishing = this.#finishing.get(state) ?? this.#runs.start(work);
    this.#finishing.set(state, finishing);
    try {
      await finishing.join(signal);
    } finally {
      this.#finishing.delete(state);
    }
  }

  /**
   * Deletes the tokens, and then revokes them at the authorization server. They stay deleted if the revocation fails.
   */
  async logout(signal: AbortSignal | undefined): Promise<void> {
    const reason = new AuthError("revocation", "The authorization was ended by logout()");
    this.#runs.end(reason);
    for (const run of this.#finishing.values()) run.end(reason);
    await this.#runs.start((run) => this.#logout(run)).join(signal);
  }

  /** True if nothing is known about the server and no run is under way. */
  get isBlank(): boolean {
    return this.#discovery === undefined && !this.#runs.isRunning && this.#finishing.size === 0;
  }

  async #logout(run: AuthRun): Promise<void> {
    // The runs that `logout` aborted start no write of tokens, but a write may be under way.
    await this.#saving?.catch(() => {});
    const forget = async () => {
      await this.#load();
      const [discovery, held] = [this.#discovery, this.#tokens];
      this.#tokens = undefined;
      if (discovery !== undefined) await this.#records.dropTokens(this.key, discovery.issuer);
      return { discovery, held };
    };
    const { discovery, held } = await this.#records.locked(`refresh ${this.key}`, forget, run.signal);
    if (held === undefined || typeof discovery?.metadata.revocation_endpoint !== "string") return;
    await this.#flows.revoke(discovery, held, run);
  }

  /** Loads discovery and tokens from the store. Keeps tokens that were obtained during the read. */
  async #load(): Promise<void> {
    const before = this.#tokens;
    const discovery = this.#discovery ?? (await this.#records.read<Discovery>("guard", this.key));
    if (discovery === undefined) return;
    this.#discovery ??= discovery;
    const stored = await this.#stored(discovery);
    if (this.#tokens === before) this.#tokens = stored;
  }

  async #stored(discovery: Discovery): Promise<TokenRecord | undefined> {
    const stored = await this.#records.tokens(this.key, discovery.issuer);
    // Bound tokens are useless without their key.
    const lost = stored?.type === "dpop" && (await this.#settings.keys.find(stored.issuer)) === undefined;
    return lost ? undefined : stored;
  }

  #hasEnded({ expiresAt }: TokenRecord): boolean {
    return expiresAt !== undefined && this.#settings.now() >= expiresAt;
  }

  #isDue({ obtainedAt, expiresAt }: TokenRecord): boolean {
    if (expiresAt === undefined) return false;
    const margin = Math.min(MARGIN_MS, (expiresAt - obtainedAt) / 10);
    return this.#settings.now() >= expiresAt - margin;
  }

  #share(
    scope: string | undefined,
    work: (run: AuthRun) => Promise<TokenRecord | undefined>,
    signal: AbortSignal | undefined,
  ): Promise<TokenRecord | undefined> {
    return this.#runs.share(scope, () => this.#tokens?.scope, work, signal);
  }

  async #renewDue(held: TokenRecord, run: AuthRun): Promise<TokenRecord | undefined> {
    this.#discovery ??= await this.#discover(NO_CHALLENGE, run);
    // If `#refresh` returns undefined, the request is sent without a token, and the server answers with a challenge.
    if (this.#settings.grant === undefined) return await this.#refresh(this.#discovery, held, run);
    return await this.#keep(await this.#flows.obtain(this.#discovery, held.scope, run), run);
  }

  async #renew(
    used: TokenRecord | undefined,
    challenge: TokenChallenge,
    refresh: boolean,
    run: AuthRun,
  ): Promise<TokenRecord | undefined> {
    const discovery = await this.#discover(challenge, run);
    // Another process that shares the store may have renewed the tokens already.
    const stored = await this.#stored(discovery);
    const newer = stored !== undefined && stored.obtainedAt >= (used?.obtainedAt ?? 0) && !this.#isDue(stored);
    if (newer && isNewAndEnough(stored, used, challenge)) return this.#adopt(stored);
    const held = this.#tokens;
    if (
      refresh &&
      used !== undefined &&
      held?.refreshToken !== undefined &&
      includesScopes(held.scope, challenge.scope)
    ) {
      const refreshed = await this.#refresh(discovery, held, run);
      if (refreshed !== undefined) return refreshed;
    }
    const scope = selectScope({
      challenged: challenge.scope,
      held: held?.scope,
      offered: discovery.scopes,
      configured: this.#settings.scope,
    });
    return await this.#keep(await this.#flows.obtain(discovery, scope, run), run);
  }

  /** Runs discovery. If the issuer has changed, deletes the stored discovery and the tokens of the previous issuer. */
  async #discover(challenge: TokenChallenge, run: AuthRun): Promise<Discovery> {
    const before = this.#discovery;
    const onIssuer = async (issuer: string) => {
      if (before === undefined || before.issuer === issuer) return;
      this.#discovery = undefined;
      this.#tokens = undefined;
      await this.#records.drop("guard", this.key);
      await this.#records.dropTokens(this.key, before.issuer);
    };
    const discovery = await discover(
      this.#http,
      this.#server,
      challenge,
      { ...this.#settings.discoverOptions, onIssuer },
      run,
    );
    await this.#records.write("guard", this.key, discovery);
    this.#discovery = discovery;
    return discovery;
  }

  /**
   * Refreshes the tokens. Returns undefined if a refresh cannot help. If another process that shares the store has
   * refreshed them, its tokens are returned, even after this refresh was rejected.
   */
  async #refresh(discovery: Discovery, held: TokenRecord, run: AuthRun): Promise<TokenRecord | undefined> {
    const work = async () => {
      const stored = (await this.#records.tokens(this.key, discovery.issuer)) ?? held;
      if (stored.accessToken !== held.accessToken && !this.#isDue(stored)) return this.#adopt(stored);
      const identity = await this.#flows.recall(discovery, run);
      if (stored.refreshToken === undefined || identity === undefined) return undefined;
      if (identity.clientId !== stored.clientId) return undefined;
      try {
        return await this.#keep(await this.#flows.refresh(discovery, stored, identity, run), run);
      } catch (error) {
        return await this.#afterRefusal(error, discovery, stored, identity);
      }
    };
    return await this.#records.locked(`refresh ${this.key}`, work, run.signal);
  }

  /**
   * Handles a failed refresh. Returns the stored tokens if another process has refreshed them. Otherwise deletes tokens
   * that were refused, and a registration that the authorization server no longer knows.
   */
  async #afterRefusal(
    error: unknown,
    discovery: Discovery,
    refused: TokenRecord,
    identity: Identity,
  ): Promise<TokenRecord | undefined> {
    if (!(error instanceof AuthError) || error.step !== "refresh") throw error;
    const forgotten = isUnknownClient(error);
    if (error.error !== "invalid_grant" && !forgotten) throw error;
    const stored = await this.#records.tokens(this.key, discovery.issuer);
    if (stored !== undefined && stored.refreshToken !== refused.refreshToken) return this.#adopt(stored);
    if (forgotten && !identity.registered) throw error;
    if (forgotten) await this.#records.dropClient(discovery.issuer);
    await this.#records.dropTokens(this.key, discovery.issuer);
    // Keeps the scope for the next authorization request.
    this.#tokens = { ...refused, refreshToken: undefined };
    return undefined;
  }

  #adopt(tokens: TokenRecord): TokenRecord {
    this.#tokens = tokens;
    return tokens;
  }

  /** Stores tokens. If the store fails, the tokens are still used in this process, but the caller gets the error. */
  async #keep(tokens: TokenRecord, run: AuthRun): Promise<TokenRecord> {
    run.signal.throwIfAborted();
    this.#adopt(tokens);
    this.futile.clear();
    this.#saving = this.#records.saveTokens(this.key, tokens);
    await this.#saving;
    return tokens;
  }
}

/** True if the tokens differ from the rejected ones and include the scope of the challenge. */
function isNewAndEnough(tokens: TokenRecord, refused: TokenRecord | undefined, challenge: TokenChallenge): boolean {
  return tokens.accessToken !== refused?.accessToken && includesScopes(tokens.scope, challenge.scope);
}
