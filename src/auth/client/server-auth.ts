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

/** Tokens are renewed this long before they end, or a tenth of their life before if that is less. */
const MARGIN_MS = 30_000;

/** What is known, and done, about the authorization at one MCP server. */
export class ServerAuth {
  /** Messages for which more scope did not help, with the token that they failed with. */
  readonly futile = new Map<string, string>();
  /** How many requests are under way. */
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
  /** The token that could not be renewed ahead of time: it is used until it ends. */
  #spared: string | undefined;
  /** Answers of users that are being redeemed, by their state. */
  readonly #finishing = new Map<string, SharedRun<TokenRecord>>();
  /** Tokens that are just being stored. */
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

  /** The tokens to send, renewed when they are about to end; undefined when there are none. */
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

  /** A point in time: a run that ends later answers for all requests that were sent before. */
  get mark(): number {
    return this.#runs.mark;
  }

  /**
   * New tokens, after the server refused `used` in a request that was sent at `mark`. With `refresh` a refresh token is
   * tried before anything else.
   */
  async renew(
    used: TokenRecord | undefined,
    challenge: TokenChallenge,
    { refresh, mark, signal }: { refresh: boolean; mark: number; signal: AbortSignal | undefined },
  ): Promise<TokenRecord | undefined> {
    const held = this.#tokens;
    if (held !== undefined && isNewAndEnough(held, used, challenge)) return held;
    this.#runs.throwFailureSince(mark);
    return await this.#share(challenge.scope, (run) => this.#renew(used, challenge, refresh, run), signal);
  }

  /** Takes what came back for an attempt that was started earlier, here or elsewhere. */
  async finish(attempt: Attempt, params: URLSearchParams, signal: AbortSignal | undefined): Promise<void> {
    await this.#load();
    if (this.#discovery !== undefined && this.#discovery.issuer !== attempt.discovery.issuer) {
      throw new AuthError(
        "issuer",
        `The server is guarded by ${this.#discovery.issuer} now, not by ${attempt.discovery.issuer}`,
      );
    }
    this.#discovery = attempt.discovery;
    const { state } = attempt;
    const work = async (run: AuthRun) => await this.#keep(await this.#flows.finish(attempt, params, run), run);
    // Apart from the other runs, which may be waiting for this very user; the same answer twice is redeemed once.
    const finishing = this.#finishing.get(state) ?? this.#runs.start(work);
    this.#finishing.set(state, finishing);
    try {
      await finishing.join(signal);
    } finally {
      this.#finishing.delete(state);
    }
  }

  /** Tells the authorization server that the tokens are done with, and forgets them in any case. */
  async logout(signal: AbortSignal | undefined): Promise<void> {
    const reason = new AuthError("revocation", "The user has logged out meanwhile");
    this.#runs.end(reason);
    for (const run of this.#finishing.values()) run.end(reason);
    await this.#runs.start((run) => this.#logout(run)).join(signal);
  }

  /** Whether nothing is known, or being found out, about the server. */
  get isBlank(): boolean {
    return this.#discovery === undefined && !this.#runs.isRunning && this.#finishing.size === 0;
  }

  async #logout(run: AuthRun): Promise<void> {
    // A run that has been ended stores nothing any more, but may have begun to.
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

  /** Takes what the store has, unless something newer has come while it was asked. */
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
    // Tokens that are bound to a key are worth nothing without it.
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
    // Where a refresh does not help no token goes out, and the server says what it wants.
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
    // Somebody else who shares the store may have been faster.
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

  /** The issuer may have changed since it was looked up: what belongs to another issuer is dropped at once. */
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
   * Undefined when a refresh cannot help. Others who share the store may have refreshed meanwhile: then their tokens are
   * the answer, and a refusal of ours says nothing about them.
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
    // The scope is still worth knowing.
    this.#tokens = { ...refused, refreshToken: undefined };
    return undefined;
  }

  #adopt(tokens: TokenRecord): TokenRecord {
    this.#tokens = tokens;
    return tokens;
  }

  /** Tokens that cannot be stored are still good here; the caller is told all the same. */
  async #keep(tokens: TokenRecord, run: AuthRun): Promise<TokenRecord> {
    run.signal.throwIfAborted();
    this.#adopt(tokens);
    this.futile.clear();
    this.#saving = this.#records.saveTokens(this.key, tokens);
    await this.#saving;
    return tokens;
  }
}

/** Whether tokens are others than those that were refused, and enough. */
function isNewAndEnough(tokens: TokenRecord, refused: TokenRecord | undefined, challenge: TokenChallenge): boolean {
  return tokens.accessToken !== refused?.accessToken && includesScopes(tokens.scope, challenge.scope);
}
