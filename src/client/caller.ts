import type { Clock } from "../call/clock.js";
import { CallScope } from "../call/scope.js";
import { tellProgress } from "../call/tell-progress.js";
import type { ClientResult, Connection } from "../era/client-era.js";
import type { Params } from "../jsonrpc/message.js";
import { McpError, ProtocolError } from "../schema/errors.js";
import type { InputRequest } from "../schema/types.js";
import { answer } from "./answers.js";
import type { ClientCall, ClientOptions } from "./options.js";
import { DEFAULTS } from "./options.js";

/**
 * Makes calls: scope, send, and the rounds of questions that a server may answer with. The one place to read to know what
 * a client does with a request.
 */
export class Caller {
  readonly #connection: Pick<Connection, "call">;
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #onProblem: (problem: unknown) => void;
  readonly #scopes = new Set<CallScope>();

  constructor(
    connection: Pick<Connection, "call">,
    options: ClientOptions,
    clock: Clock,
    onProblem: (problem: unknown) => void,
  ) {
    this.#onProblem = onProblem;
    this.#connection = connection;
    this.#options = options;
    this.#clock = clock;
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#scopes.size;
  }

  async call(call: ClientCall): Promise<ClientResult> {
    const scope = this.openScope(call.method, call.options);
    try {
      scope.throwIfAborted();
      return await this.#rounds(call, scope);
    } finally {
      this.closeScope(scope);
    }
  }

  openScope(label: string, limits: ClientCall["options"]): CallScope {
    const timeoutMs = limits.timeoutMs ?? this.#options.timeoutMs ?? DEFAULTS.timeoutMs;
    const deadlineMs = limits.deadlineMs ?? this.#options.deadlineMs ?? defaultDeadline(timeoutMs);
    const scope = new CallScope(label, { signal: limits.signal, timeoutMs, deadlineMs }, this.#clock);
    this.#scopes.add(scope);
    return scope;
  }

  closeScope(scope: CallScope): void {
    this.#scopes.delete(scope);
    scope.close();
  }

  /** Runs work during which the server waits for this side: no call runs into its idle time meanwhile. */
  async whileServerWaits<T>(work: () => Promise<T>): Promise<T> {
    const held = [...this.#scopes];
    for (const scope of held) scope.hold();
    try {
      return await work();
    } finally {
      for (const scope of held) scope.release();
    }
  }

  async #rounds(call: ClientCall, scope: CallScope): Promise<ClientResult> {
    const { method, options } = call;
    const listener = options.onProgress;
    const onProgress =
      listener === undefined ? undefined : (params: Params) => tellProgress(listener, params, this.#onProblem);
    const most = this.#options.maxRounds ?? DEFAULTS.maxRounds;
    const { logLevel } = options;
    const original = withMeta(call.params, options.meta);
    const manual = options.manual ?? this.#options.manual ?? false;
    let params: Params | undefined = options.resume === undefined ? original : { ...original, ...options.resume };
    let { id } = options;
    for (let round = 0; round <= most; round++) {
      const result = await this.#connection.call(
        { method, params, id, onProgress, logLevel, cache: options.cache },
        scope,
      );
      if (result.resultType !== "input_required" || manual) return result;
      params = await this.#answerRound(method, original, result, scope);
      id = undefined;
    }
    throw new McpError("too_many_rounds", `${method}: the server asked for input more than ${most} times`);
  }

  /** The params of the next round: what was asked for, and the server's state exactly as it came. */
  async #answerRound(
    method: string,
    params: Params | undefined,
    asked: ClientResult,
    scope: CallScope,
  ): Promise<Params> {
    const requests = asked.inputRequests as Record<string, InputRequest> | undefined;
    const { requestState } = asked;
    if (requests === undefined && requestState === undefined) {
      throw new ProtocolError(`${method}: the server asked for input but not for what`);
    }
    const next: Record<string, unknown> = { ...params };
    if (requests !== undefined) next.inputResponses = await this.#answerAll(requests, scope);
    if (requestState !== undefined) next.requestState = requestState;
    return next;
  }

  async #answerAll(requests: Record<string, InputRequest>, scope: CallScope): Promise<Record<string, unknown>> {
    const answers = Object.entries(requests).map(async ([key, request]) => {
      return [key, await answer(this.#options, request.method, request.params as Params | undefined, scope)] as const;
    });
    const settled = Promise.all(answers);
    const ended = new Promise<never>((_, reject) => scope.onAbort(reject));
    scope.hold();
    try {
      return Object.fromEntries(await Promise.race([settled, ended]));
    } finally {
      scope.release();
    }
  }
}

/** A peer that shows signs of life may not do so for ever; who switched the idle time off wants no limit at all. */
function defaultDeadline(timeoutMs: number): number {
  return timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : DEFAULTS.deadlineMs;
}

function withMeta(params: Params | undefined, meta: object | undefined): Params | undefined {
  return meta === undefined ? params : { ...params, _meta: { ...(params?._meta as object | undefined), ...meta } };
}
