import type { MaybePromise } from "../../../call/maybe-promise.js";
import { type Asking, type Questions, sendsAway } from "../../asking.js";
import { type Call, type HandlerResult, PreparedResult, type Run, type ServerHost } from "../../server-era.js";
import { modernMethods } from "../methods.js";
import type { Replay } from "./replay.js";

/**
 * Runs a handler whose questions are answered in later requests. What that takes is loaded when a handler asks, or when a
 * client brings answers: most calls never do either.
 */
export function settleInRounds(call: Call, host: ServerHost, run: Run): MaybePromise<HandlerResult> {
  if (modernMethods.get(call.method)?.asks !== true) return run(questionless(call.method, host));
  const round = new Round(call, host);
  const { requestState, inputResponses } = call.params;
  if (requestState === undefined && inputResponses === undefined) return settle(round, run);
  return round.open().then(() => settle(round, run));
}

function settle(round: Round, run: Run): MaybePromise<HandlerResult> {
  let result: MaybePromise<HandlerResult>;
  try {
    result = run(round);
  } catch (error) {
    return round.fail(error);
  }
  if (!(result instanceof Promise)) return round.finish(result);
  return result.then(
    (result) => round.finish(result),
    (error: unknown) => round.fail(error),
  );
}

function isQuestion(result: HandlerResult): boolean {
  return !(result instanceof PreparedResult) && result.resultType === "input_required";
}

const loadRounds = () => import("./replay.js");

class Round implements Asking {
  readonly #call: Call;
  readonly #host: ServerHost;
  #replay: Promise<Replay> | undefined;
  #questions: Promise<Questions> | undefined;

  constructor(call: Call, host: ServerHost) {
    this.#call = call;
    this.#host = host;
  }

  open(): Promise<Questions> {
    this.#replay ??= loadRounds().then(({ openRound }) => openRound(this.#call, this.#host));
    this.#questions ??= this.#replay.then((replay) => replay.questions);
    return this.#questions;
  }

  /** The handler returned. */
  finish(result: HandlerResult): MaybePromise<HandlerResult> {
    return this.#replay === undefined && !isQuestion(result) ? result : this.#close(result, undefined);
  }

  /** The handler threw. */
  fail(error: unknown): Promise<HandlerResult> {
    if (this.#replay === undefined && !sendsAway(error)) throw error;
    return this.#close(undefined, error);
  }

  async #close(result: HandlerResult | undefined, failure: unknown): Promise<HandlerResult> {
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
