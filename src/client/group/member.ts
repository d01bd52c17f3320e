import { untilAborted } from "../../call/abortable.js";
import { type Backoff, backoffMs } from "../../call/backoff.js";
import type { Clock } from "../../call/clock.js";
import type { EraName } from "../../era/versions.js";
import { McpError, ServerUnavailableError, TimeoutError, toError } from "../../protocol/errors.js";
import type { Known } from "../../protocol/known-options.js";
import type { Client } from "../client.js";
import type { ClientOptions, Target } from "../options.js";
import { mergeHeaders, type PlannedServer, type Variables } from "./config.js";

/** State of a server in a group. */
export type ServerStatus =
  /** Not used yet, or not since the connection was lost. */
  | { readonly state: "idle" }
  | { readonly state: "connecting" }
  | { readonly state: "ready"; readonly era: EraName | undefined; readonly version: string | undefined }
  /** Number of consecutive failures, the last error, and the time until the next attempt. */
  | { readonly state: "failed"; readonly error: Error; readonly failures: number; readonly retryInMs: number }
  | { readonly state: "closed" };

/** Backoff after failures of a server. */
export interface BackoffOptions {
  /**
   * Time without a connection attempt after the first failure. It doubles with each further failure, and half of it is
   * random.
   * @default 1000
   */
  readonly delayMs?: number | undefined;
  /**
   * Maximum of that time. A connection that lasted at least this long resets the number of failures.
   * @default 60_000
   */
  readonly maxDelayMs?: number | undefined;
}

export const BACKOFF_OPTIONS: Known<BackoffOptions> = { delayMs: "ms", maxDelayMs: "ms" };

/** Parts of the group that a member uses. */
export interface MemberContext {
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly connectTimeoutMs: number;
  readonly variables: Variables;
  connect(target: Target, options: ClientOptions, server: string): Promise<Client>;
  /** Returns the author's options for this server. */
  optionsOf(server: string): ClientOptions;
  onError(error: Error, server: string): void;
  onReady(member: GroupMember, client: Client): void;
  onLost(member: GroupMember, reason: Error | undefined): void;
}

type State =
  | { readonly name: "idle" }
  | { readonly name: "connecting"; readonly client: Promise<Client>; readonly stop: AbortController }
  | { readonly name: "ready"; readonly client: Client; readonly since: number }
  | { readonly name: "failed"; readonly error: Error; readonly until: number }
  | { readonly name: "closed" };

/** Server of a group. It is connected on first use. After a failure it is not used for a while. */
export class GroupMember {
  readonly name: string;
  /** Prefix of its names in the group. */
  readonly prefix: string;
  /** Group names that differ from prefix and own name, from the last listings. */
  readonly aliases = { tools: new Map<string, string>(), prompts: new Map<string, string>() };
  readonly #plan: PlannedServer;
  readonly #context: MemberContext;
  /** Connections that are being closed. */
  readonly #ending = new Set<Promise<void>>();
  #state: State = { name: "idle" };
  #failures = 0;
  /** True if it was unreachable since it was last connected, so that its lists may have changed. */
  #wasAway = false;

  constructor(plan: PlannedServer, prefix: string, context: MemberContext) {
    this.name = plan.name;
    this.prefix = prefix;
    this.#plan = plan;
    this.#context = context;
  }

  get status(): ServerStatus {
    const state = this.#state;
    if (state.name === "ready") return { state: "ready", era: state.client.era, version: state.client.version };
    if (state.name !== "failed") return { state: state.name };
    return { state: "failed", error: state.error, failures: this.#failures, retryInMs: this.#waitMs(state.until) };
  }

  /** Connected client, if there is one. */
  get ready(): Client | undefined {
    return this.#state.name === "ready" ? this.#state.client : undefined;
  }

  get wasAway(): boolean {
    return this.#wasAway;
  }

  /** Records that a listing does not include this server. If it is still connecting, watches report its lists later. */
  missed(): void {
    if (this.#state.name === "connecting") this.#wasAway = true;
  }

  /** Returns the connected client. Concurrent callers share one attempt. Rejects immediately during the backoff. */
  client(): Promise<Client> {
    const state = this.#state;
    if (state.name === "ready") return Promise.resolve(state.client);
    if (state.name === "connecting") return state.client;
    if (state.name === "closed") return Promise.reject(new McpError("group_closed", "The group has been closed"));
    if (state.name === "failed" && this.#waitMs(state.until) > 0) return Promise.reject(this.#unavailable(state.error));
    const stop = new AbortController();
    const client = this.#open(stop);
    this.#state = { name: "connecting", client, stop };
    client.catch(() => {});
    return client;
  }

  /** Closes the connection. The next use connects again, regardless of earlier failures. */
  async reset(): Promise<void> {
    if (this.#state.name === "closed") return;
    this.#failures = 0;
    await this.#end({ name: "idle" });
  }

  /** Closes the connection for good. Resolves when nothing is left of it. */
  close(): Promise<void> {
    return this.#end({ name: "closed" });
  }

  async #end(next: State): Promise<void> {
    const state = this.#state;
    this.#state = next;
    if (state.name === "connecting") {
      state.stop.abort(
        new McpError("group_closed", "The connection attempt was ended by reset() or close() of the group"),
      );
      // The attempt rejects after it has been aborted and cleaned up.
      this.#track(state.client.then(() => {}));
    }
    if (state.name === "ready") {
      this.#wasAway = true;
      this.#track(state.client.close());
      this.#context.onLost(this, undefined);
    }
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  async #open(stop: AbortController): Promise<Client> {
    const { clock, connectTimeoutMs: ms } = this.#context;
    const late = () =>
      stop.abort(
        new TimeoutError("deadline", ms, `not connected within ${ms} ms (option connectTimeoutMs)`, "not_sent"),
      );
    const timer = clock.schedule(late, ms);
    const life: { lost?: { readonly reason: Error | undefined } } = {};
    const dialing = this.#dial(stop.signal, life);
    try {
      const client = await untilAborted(dialing, stop.signal);
      if (stop.signal.aborted) throw stop.signal.reason;
      if (life.lost !== undefined)
        throw life.lost.reason ?? new McpError("connection_lost", "the connection ended immediately");
      this.#state = { name: "ready", client, since: clock.now() };
      this.#context.onReady(this, client);
      this.#wasAway = false;
      return client;
    } catch (error) {
      this.#track(dialing.then((client) => client.close()));
      throw this.#failed(toError(error), stop);
    } finally {
      clock.cancel(timer);
    }
  }

  async #dial(signal: AbortSignal, life: { lost?: { readonly reason: Error | undefined } }): Promise<Client> {
    const { name } = this;
    // Does not wait for a custom function after the abort.
    const opening = (async () => this.#plan.open(this.#context.variables))();
    const { target, options: planned } = await untilAborted(opening, signal);
    const given = this.#context.optionsOf(name);
    signal.throwIfAborted();
    let client: Client | undefined;
    const options: ClientOptions = {
      clock: this.#context.clock,
      ...planned,
      ...given,
      headers: mergeHeaders(planned.headers, given.headers),
      signal,
      onError: (error) => {
        given.onError?.(error);
        this.#context.onError(error, name);
      },
      onClose: (reason) => {
        life.lost = { reason };
        if (this.#state.name === "ready" && this.#state.client === client) this.#lost(this.#state.since, reason);
        given.onClose?.(reason);
      },
    };
    client = await this.#context.connect(target, options, name);
    return client;
  }

  /** Returns the error for the callers. An attempt that `reset` or `close` ended does not count as a failure. */
  #failed(error: Error, stop: AbortController): Error {
    const state = this.#state;
    if (state.name !== "connecting" || state.stop !== stop) return error;
    return this.#leaveAlone(error);
  }

  /**
   * Handles the end of a connection. The backoff is skipped if the connection lasted at least `maxDelayMs` or ended
   * without an error.
   */
  #lost(since: number, reason: Error | undefined): void {
    const { clock, backoff } = this.#context;
    this.#wasAway = true;
    if (reason === undefined || clock.now() - since >= backoff.maxDelayMs) {
      this.#failures = 0;
      this.#state = { name: "idle" };
    } else {
      this.#leaveAlone(reason);
    }
    this.#context.onLost(this, reason);
  }

  #leaveAlone(error: Error): Error {
    const { clock, backoff } = this.#context;
    this.#state = { name: "failed", error, until: clock.now() + backoffMs(this.#failures++, backoff) };
    this.#wasAway = true;
    const unavailable = this.#unavailable(error);
    this.#context.onError(unavailable, this.name);
    return unavailable;
  }

  #unavailable(cause: Error): ServerUnavailableError {
    const retryInMs = this.#state.name === "failed" ? this.#waitMs(this.#state.until) : 0;
    return new ServerUnavailableError(this.name, retryInMs, cause);
  }

  #waitMs(until: number): number {
    return Math.max(0, Math.ceil(until - this.#context.clock.now()));
  }

  #track(work: Promise<void>): void {
    const ending = work.catch(() => {}).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
