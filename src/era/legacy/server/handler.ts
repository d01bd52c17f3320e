import type { MaybePromise } from "../../../call/maybe-promise.js";
import { type Asking, type Questions, sendsAway } from "../../asking.js";
import { MAX_ROUNDS } from "../../defaults.js";
import {
  type Call,
  type HandlerResult,
  PreparedResult,
  type Result,
  type Run,
  type ServerHost,
} from "../../server-era.js";
import type { Pushed } from "./push.js";

/**
 * Runs a handler whose questions are sent to the client as requests while it waits. A handler that returns its questions
 * is run again with the answers, here, so that it works as it does where the client repeats the request. What asking takes
 * is loaded when a handler asks.
 */
export function settleByPushing(call: Call, host: ServerHost, run: Run): MaybePromise<HandlerResult> {
  const asking = new LatePushed(call, host);
  let result: MaybePromise<HandlerResult>;
  try {
    result = run(asking);
  } catch (error) {
    result = Promise.reject(error);
  }
  if (!(result instanceof Promise) && !isQuestion(result)) return result;
  return settleLater(call, host, run, asking, result);
}

async function settleLater(
  call: Call,
  host: ServerHost,
  run: Run,
  asking: LatePushed,
  first: MaybePromise<HandlerResult>,
): Promise<HandlerResult> {
  try {
    let result = await first;
    for (let round = 0; isQuestion(result); round++) {
      if (round === (host.options.maxRounds ?? MAX_ROUNDS))
        throw new Error(`${call.method} asked for more than ${round} rounds of input`);
      await (await asking.pushed()).answerRound(result);
      result = await run(asking);
    }
    return result;
  } catch (error) {
    if (sendsAway(error)) throw (await asking.pushed()).sendToPages(error);
    throw error;
  }
}

function isQuestion(result: HandlerResult): result is Result {
  return !(result instanceof PreparedResult) && result.resultType === "input_required";
}

class LatePushed implements Asking {
  readonly #call: Call;
  readonly #host: ServerHost;
  #pushed: Promise<Pushed> | undefined;
  #questions: Promise<Questions> | undefined;

  constructor(call: Call, host: ServerHost) {
    this.#call = call;
    this.#host = host;
  }

  pushed(): Promise<Pushed> {
    this.#pushed ??= import("./push.js").then(({ Pushed }) => new Pushed(this.#call, this.#host));
    return this.#pushed;
  }

  open(): Promise<Questions> {
    this.#questions ??= this.pushed().then((pushed) => pushed.questions);
    return this.#questions;
  }
}
