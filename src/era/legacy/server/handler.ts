import type { MaybePromise } from "../../../call/maybe-promise.js";
import { type ClientRequests, type ClientRequestsOpener, isUrlElicitationRequired } from "../../asking.js";
import { MAX_ROUNDS } from "../../defaults.js";
import {
  type Call,
  type HandlerResult,
  PreparedResult,
  type Result,
  type RunHandler,
  type ServerRuntime,
} from "../../server-era.js";
import type { PushStrategy } from "./push.js";

/**
 * Runs a handler whose questions are sent to the client as requests while it waits. A handler that returns its questions
 * is run again with the answers, here, so that it works as it does where the client repeats the request. What asking takes
 * is loaded when a handler asks.
 */
export function runWithPush(call: Call, runtime: ServerRuntime, run: RunHandler): MaybePromise<HandlerResult> {
  const asking = new LatePushed(call, runtime);
  let result: MaybePromise<HandlerResult>;
  try {
    result = run(asking);
  } catch (error) {
    result = Promise.reject(error);
  }
  if (!(result instanceof Promise) && !isQuestion(result)) return result;
  return settleLater(call, runtime, run, asking, result);
}

async function settleLater(
  call: Call,
  runtime: ServerRuntime,
  run: RunHandler,
  asking: LatePushed,
  first: MaybePromise<HandlerResult>,
): Promise<HandlerResult> {
  try {
    let result = await first;
    for (let round = 0; isQuestion(result); round++) {
      if (round === (runtime.options.maxRounds ?? MAX_ROUNDS))
        throw new Error(`${call.method} asked for more than ${round} rounds of input`);
      await (await asking.pushed()).answerRound(result);
      result = await run(asking);
    }
    return result;
  } catch (error) {
    if (isUrlElicitationRequired(error)) throw (await asking.pushed()).sendToPages(error);
    throw error;
  }
}

function isQuestion(result: HandlerResult): result is Result {
  return !(result instanceof PreparedResult) && result.resultType === "input_required";
}

class LatePushed implements ClientRequestsOpener {
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  #pushed: Promise<PushStrategy> | undefined;
  #questions: Promise<ClientRequests> | undefined;

  constructor(call: Call, runtime: ServerRuntime) {
    this.#call = call;
    this.#runtime = runtime;
  }

  pushed(): Promise<PushStrategy> {
    this.#pushed ??= import("./push.js").then(({ PushStrategy }) => new PushStrategy(this.#call, this.#runtime));
    return this.#pushed;
  }

  open(): Promise<ClientRequests> {
    this.#questions ??= this.pushed().then((pushed) => pushed.questions);
    return this.#questions;
  }
}
