import type { MaybePromise } from "../../../call/maybe-promise.js";
import { type ClientRequests, type ClientRequestsOpener, isUrlElicitationRequired } from "../../request-strategy.js";
import type { Call, HandlerResult, RunHandler, ServerRuntime } from "../../server-era.js";
import { modernMethods } from "../methods.js";
import type { Replay } from "./replay.js";

/**
 * Runs a handler whose questions are answered in later requests. The code for that is loaded when a handler asks, or
 * when a request contains answers or state, since most calls do neither.
 */
export function runWithReplay(call: Call, runtime: ServerRuntime, run: RunHandler): MaybePromise<HandlerResult> {
  if (modernMethods.get(call.method)?.asks !== true) return run(questionless(call, runtime));
  const round = new Round(call, runtime);
  const { requestState, inputResponses } = call.params;
  if (requestState === undefined && inputResponses === undefined) return settle(round, run);
  return round.once(() => settle(round, run));
}

function settle(round: Round, run: RunHandler): MaybePromise<HandlerResult> {
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

const loadRounds = () => import("./replay.js");

/** Round of a call. Loads the replay when it is needed. */
class Round implements ClientRequestsOpener {
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  #replay: Promise<Replay> | undefined;
  #questions: Promise<ClientRequests> | undefined;

  constructor(call: Call, runtime: ServerRuntime) {
    this.#call = call;
    this.#runtime = runtime;
  }

  open(): Promise<ClientRequests> {
    this.#questions ??= this.#open().then((replay) => replay.questions);
    return this.#questions;
  }

  /**
   * Runs a round that continues an earlier one. If the server tracks the use of states, a repeated request joins the
   * round or gets its outcome.
   */
  async once(run: () => MaybePromise<HandlerResult>): Promise<HandlerResult> {
    return (await this.#open()).once(run);
  }

  /** Ends the round of a handler that has returned. */
  finish(result: HandlerResult): MaybePromise<HandlerResult> {
    return this.#replay === undefined && result.resultType !== "input_required"
      ? result
      : this.#close(result, undefined);
  }

  /** Ends the round of a handler that has thrown. */
  fail(error: unknown): Promise<HandlerResult> {
    if (this.#replay === undefined && !isUrlElicitationRequired(error)) throw error;
    return this.#close(undefined, error);
  }

  async #close(result: HandlerResult | undefined, failure: unknown): Promise<HandlerResult> {
    return (await this.#open()).close(result, failure);
  }

  #open(): Promise<Replay> {
    this.#replay ??= loadRounds().then(({ openRound }) => openRound(this.#call, this.#runtime));
    return this.#replay;
  }
}

/** Opens the requests to the client of a method whose result cannot be `input_required`: every question is refused. */
function questionless(call: Call, runtime: ServerRuntime): ClientRequestsOpener {
  let questions: Promise<ClientRequests> | undefined;
  return {
    open: () => {
      questions ??= loadRounds().then(({ createQuestionless }) => createQuestionless(call, runtime));
      return questions;
    },
  };
}
