import { RpcError } from "../../schema/errors.js";
import type { Asking, Questions } from "../asking.js";
import type { Call, HandlerResult, Run, ServerHost } from "../era.js";
import { PreparedResult } from "../prepared-result.js";
import { modernMethods } from "./methods.js";
import type { Replay } from "./rounds.js";

/**
 * Runs a handler whose questions are answered in later requests. What that takes is loaded when a handler asks, or when a
 * client brings answers: most calls never do either.
 */
export async function settleInRounds(call: Call, host: ServerHost, run: Run): Promise<HandlerResult> {
  if (modernMethods.get(call.method)?.asks !== true) return run(questionless(call.method, host));
  const round = new Round(call, host);
  const { requestState, inputResponses } = call.params;
  if (requestState !== undefined || inputResponses !== undefined) await round.open();
  let result: HandlerResult | undefined;
  let failure: unknown;
  try {
    result = await run(round);
  } catch (error) {
    failure = error;
  }
  const asks = round.opened || sendsAway(failure) || isQuestion(result);
  if (asks) return round.close(result, failure);
  if (failure !== undefined) throw failure;
  return result as HandlerResult;
}

/** Whether an error may be one that names pages, of which the rest knows more. */
function sendsAway(failure: unknown): boolean {
  return failure instanceof RpcError && "elicitations" in failure;
}

function isQuestion(result: HandlerResult | undefined): boolean {
  return result !== undefined && !(result instanceof PreparedResult) && result.resultType === "input_required";
}

const loadRounds = () => import("./rounds.js");

class Round implements Asking {
  readonly #call: Call;
  readonly #host: ServerHost;
  #replay: Promise<Replay> | undefined;
  #questions: Promise<Questions> | undefined;

  constructor(call: Call, host: ServerHost) {
    this.#call = call;
    this.#host = host;
  }

  get opened(): boolean {
    return this.#replay !== undefined;
  }

  open(): Promise<Questions> {
    this.#replay ??= loadRounds().then(({ openRound }) => openRound(this.#call, this.#host));
    this.#questions ??= this.#replay.then((replay) => replay.questions);
    return this.#questions;
  }

  async close(result: HandlerResult | undefined, failure: unknown): Promise<HandlerResult> {
    await this.open();
    const { closeRound } = await loadRounds();
    return closeRound(this.#call, (await this.#replay) as Replay, result, failure);
  }
}

/** For methods that this era does not let ask. */
function questionless(method: string, host: ServerHost): Asking {
  let questions: Promise<Questions> | undefined;
  return {
    open: () => {
      questions ??= loadRounds().then(({ createQuestionless }) => createQuestionless(method, host));
      return questions;
    },
  };
}
