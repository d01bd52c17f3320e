import { AbortSwitch } from "../call/abort-switch.js";
import { type Clock, pause } from "../call/clock.js";
import { CallLifetime } from "../call/lifetime.js";
import type { MaybePromise } from "../call/maybe-promise.js";
import { tellProgress } from "../call/progress.js";
import type { ClientResult, Connection, ConnectionCall } from "../era/client-era.js";
import { ConnectionError, InputRequiredError, ProtocolError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";
import type { InputRequests, InputRequiredResult } from "../protocol/types/index.js";
import { type ClientCall, type ClientOptions, DEFAULTS } from "./options.js";

/** What calls are sent by. */
export interface CallWire extends Pick<Connection, "call"> {
  /** Hears of every request that fails. */
  failed?(call: ConnectionCall, error: unknown): void;
}

/** What the maker of a call makes of its result. */
export type ReadResult<T> = (result: ClientResult) => MaybePromise<T>;

/** What a call that failed comes to. */
export type OnFailure = (error: unknown, options: ClientCall["options"]) => Promise<never>;

/** Answers one question of the server. */
export type Answerer = (method: string, params: Params | undefined, end: AbortSwitch) => Promise<ClientResult>;

/**
 * Makes calls: scope, send, and the rounds of questions that a server may answer with. The one place to read to know what
 * a client does with a request.
 */
export class Caller {
  readonly #wire: CallWire;
  readonly #options: ClientOptions;
  readonly #answer: Answerer;
  readonly #clock: Clock;
  readonly #onProblem: (problem: unknown) => void;
  readonly #scopes = new SmallMap<CallLifetime, CallLifetime>();
  /** Those that have nothing on the wire, because it is for this side to go on: no link would end them. */
  readonly #offWire = new Set<CallLifetime>();
  #over: ConnectionError | undefined;

  constructor(
    wire: CallWire,
    options: ClientOptions,
    answer: Answerer,
    clock: Clock,
    onProblem: (problem: unknown) => void,
  ) {
    this.#onProblem = onProblem;
    this.#wire = wire;
    this.#options = options;
    this.#answer = answer;
    this.#clock = clock;
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#scopes.size;
  }

  /**
   * Makes a call and gives what is read of its result. Throws what keeps it from being made; what it fails with then is
   * what `onFailure` makes of it.
   */
  call<T>(call: ClientCall, read: ReadResult<T>, onFailure: OnFailure): Promise<T> {
    const lifetime = this.openLifetime(call.method, call.options);
    try {
      lifetime.throwIfAborted();
      const first = this.#toSend(call);
      return this.#wire.call(first, lifetime).then(
        (result) => {
          if (result.resultType === "input_required") {
            return this.#rounds(call, first, result, lifetime)
              .finally(() => this.closeScope(lifetime))
              .then(read, (error) => onFailure(error, call.options));
          }
          this.closeScope(lifetime);
          return read(result);
        },
        (error) => {
          this.closeScope(lifetime);
          this.#wire.failed?.(first, error);
          return onFailure(error, call.options);
        },
      );
    } catch (error) {
      this.closeScope(lifetime);
      throw error;
    }
  }

  openLifetime(label: string, limits: ClientCall["options"]): CallLifetime {
    const timeoutMs = limits.timeoutMs ?? this.#options.timeoutMs ?? DEFAULTS.timeoutMs;
    const deadlineMs = limits.deadlineMs ?? this.#options.deadlineMs ?? defaultDeadline(timeoutMs);
    const lifetime = new CallLifetime(label, { signal: limits.signal, timeoutMs, deadlineMs }, this.#clock);
    this.#scopes.add(lifetime, lifetime);
    return lifetime;
  }

  closeScope(lifetime: CallLifetime): void {
    this.#scopes.delete(lifetime);
    this.#offWire.delete(lifetime);
    lifetime.close();
  }

  /** The connection is over: ends the calls that it does not end itself. */
  end(reason: Error | undefined): void {
    const message = "The connection was closed before the call was finished";
    this.#over ??= new ConnectionError(message, { delivery: "sent", cause: reason });
    for (const lifetime of [...this.#offWire]) lifetime.abort(this.#over);
  }

  /** From here on the end of the connection ends the scope. */
  leaveWire(lifetime: CallLifetime): void {
    if (this.#over !== undefined) lifetime.abort(this.#over);
    lifetime.throwIfAborted();
    this.#offWire.add(lifetime);
  }

  /** Runs work during which the server waits for this side: no call runs into its idle time meanwhile. */
  async whileServerWaits<T>(work: () => Promise<T>): Promise<T> {
    const held = this.#scopes.values();
    for (const lifetime of held) lifetime.pauseIdle();
    try {
      return await work();
    } finally {
      for (const lifetime of held) lifetime.resumeIdle();
    }
  }

  #toSend({ method, params, options }: ClientCall): ConnectionCall {
    const { capabilities, logLevel, cache, resume, onResumable, id, meta, onProgress: listener } = options;
    const onProgress =
      listener === undefined ? undefined : (told: Params) => tellProgress(listener, told, this.#onProblem);
    const sent = withMeta(params, meta);
    const kept = this.#mayBeAsked(options) ? structuredClone(sent) : sent;
    return { method, params: kept, id, onProgress, capabilities, logLevel, cache, resume, onResumable };
  }

  /** Answers what the server asks, and calls again with the answers, until it asks no more. */
  async #rounds(
    { method, options }: ClientCall,
    first: ConnectionCall,
    asked: ClientResult,
    lifetime: CallLifetime,
  ): Promise<ClientResult> {
    if ((options.input ?? this.#options.input) === "manual") return asked;
    const most = this.#options.maxRounds ?? DEFAULTS.maxRounds;
    let result = asked;
    let pauses = 0;
    for (let round = 0; result.resultType === "input_required"; round++) {
      if (round === most) throw tooManyRounds(method, most, result);
      const { inputRequests, requestState } = result as unknown as InputRequiredResult;
      if (requestState === undefined && Object.keys(inputRequests ?? {}).length === 0) {
        throw new ProtocolError(`${method}: the server asked for input but not for what`);
      }
      const params: Record<string, unknown> = { ...first.params };
      this.leaveWire(lifetime);
      if (inputRequests !== undefined) params.inputResponses = await this.#answerAll(inputRequests, lifetime);
      if (requestState !== undefined) params.requestState = requestState;
      pauses = inputRequests === undefined ? pauses + 1 : 0;
      if (pauses > 0) await this.#pause(pauseBefore(pauses), lifetime);
      this.#offWire.delete(lifetime);
      result = await this.#wire.call({ ...first, params, id: undefined }, lifetime).catch((error) => {
        this.#wire.failed?.(first, error);
        throw error;
      });
    }
    return result;
  }

  async #pause(ms: number, lifetime: CallLifetime): Promise<void> {
    await pause(this.#clock, ms, lifetime.signal);
    lifetime.throwIfAborted();
    lifetime.heard();
  }

  /** Only then may params be sent again, and what the caller does to them meanwhile must not matter. */
  #mayBeAsked(options: ClientCall["options"]): boolean {
    const { onElicit, onElicitUrl, onSample, roots } = this.#options;
    return (onElicit ?? onElicitUrl ?? onSample ?? roots ?? options.capabilities) !== undefined;
  }

  /** All answers, or the first failure, which ends the work on the others. */
  async #answerAll(requests: InputRequests, lifetime: CallLifetime): Promise<Record<string, unknown>> {
    const round = new AbortSwitch();
    const endRound = (reason: unknown) => round.abort(reason);
    lifetime.onAbort(endRound);
    lifetime.pauseIdle();
    try {
      const ended = new Promise<never>((_, reject) => round.onAbort(reject));
      const answers = Object.entries(requests).map(async ([key, { method, params }]) => {
        return [key, await this.#answer(method, params as Params | undefined, round)] as const;
      });
      return Object.fromEntries(await Promise.race([Promise.all(answers), ended]));
    } catch (error) {
      round.abort(error);
      throw error;
    } finally {
      lifetime.resumeIdle();
      lifetime.offAbort(endRound);
    }
  }
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** How long to wait before a round that only brings the state back, which asks whether the server is ready. */
function pauseBefore(count: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), LONGEST_PAUSE_MS);
}

function tooManyRounds(method: string, most: number, result: ClientResult): InputRequiredError {
  const message = `${method}: the server asked for input more than ${most} times`;
  return new InputRequiredError("too_many_rounds", message, result as unknown as InputRequiredResult);
}

/** A peer that shows signs of life may not do so for ever; who switched the idle time off wants no limit at all. */
function defaultDeadline(timeoutMs: number): number {
  return timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : DEFAULTS.deadlineMs;
}

function withMeta(params: Params | undefined, meta: object | undefined): Params | undefined {
  return meta === undefined ? params : { ...params, _meta: { ...(params?._meta as object | undefined), ...meta } };
}
