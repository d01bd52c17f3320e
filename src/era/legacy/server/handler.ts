import type { MaybePromise } from "../../../call/maybe-promise.js";
import { CheckedClientRequests } from "../../client-requests.js";
import { type ClientRequests, type ClientRequestsOpener, isUrlElicitationRequired } from "../../request-strategy.js";
import type { Call, HandlerResult, Result, RunHandler, ServerRuntime } from "../../server-era.js";
import { PushStrategy } from "./push.js";

/**
 * Runs a handler whose questions are sent to the client as requests. A handler that returns `inputRequired` runs again
 * here with the answers, so that it works as in the modern era, where the client repeats the request.
 */
export function runWithPush(call: Call, runtime: ServerRuntime, run: RunHandler): MaybePromise<HandlerResult> {
  const asking = new PushedRequests(call, runtime);
  let result: MaybePromise<HandlerResult>;
  try {
    result = run(asking);
  } catch (error) {
    if (!isUrlElicitationRequired(error)) throw error;
    result = Promise.reject(error);
  }
  if (!(result instanceof Promise) && result.resultType !== "input_required") return result;
  return settleLater(call, runtime, run, asking, result);
}

async function settleLater(
  call: Call,
  runtime: ServerRuntime,
  run: RunHandler,
  asking: PushedRequests,
  first: MaybePromise<HandlerResult>,
): Promise<HandlerResult> {
  try {
    let result = await first;
    for (let round = 0; result.resultType === "input_required"; round++) {
      if (round === runtime.limits.maxRounds)
        throw new Error(`${call.method} asked for more than ${round} rounds of input (limits.maxRounds)`);
      await asking.answerRound(result as Result);
      result = await run(asking);
    }
    return result;
  } catch (error) {
    if (isUrlElicitationRequired(error)) throw asking.strategy.toUrlError(error);
    throw error;
  }
}

/** Requests of a call to the client. The strategy is created on first use. */
class PushedRequests implements ClientRequestsOpener {
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  #strategy: PushStrategy | undefined;
  #requests: Promise<ClientRequests> | undefined;

  constructor(call: Call, runtime: ServerRuntime) {
    this.#call = call;
    this.#runtime = runtime;
  }

  get strategy(): PushStrategy {
    this.#strategy ??= new PushStrategy(this.#call, this.#runtime);
    return this.#strategy;
  }

  open(): Promise<ClientRequests> {
    this.#requests ??= Promise.resolve(new CheckedClientRequests(this.strategy, this.#runtime));
    return this.#requests;
  }

  /** Sends the questions of an `inputRequired` result. The next run of the handler begins after it. */
  async answerRound(result: Result): Promise<void> {
    await this.strategy.answerRound(result);
    this.#requests = undefined;
  }
}
