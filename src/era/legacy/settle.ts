import { UrlElicitationRequiredError } from "../../schema/url-elicitation-error.js";
import type { Asking, Questions } from "../asking.js";
import type { Call, HandlerResult, Run, ServerHost } from "../era.js";
import { PreparedResult } from "../prepared-result.js";
import type { Pushed } from "./pushing.js";

/**
 * Runs a handler whose questions are sent to the client as requests while it waits. A handler that returns its questions
 * is run again with the answers, here, so that it works as it does where the client repeats the request. What asking takes
 * is loaded when a handler asks.
 */
export async function settleByPushing(call: Call, host: ServerHost, run: Run): Promise<HandlerResult> {
  const asking = new LatePushed(call, host);
  try {
    for (let round = 0; round <= host.maxRounds; round++) {
      const result = await run(asking);
      if (result instanceof PreparedResult || result.resultType !== "input_required") return result;
      await (await asking.pushed()).answerRound(result);
    }
  } catch (error) {
    if (error instanceof UrlElicitationRequiredError) throw (await asking.pushed()).sendToPages(error);
    throw error;
  }
  throw new Error(`${call.method} asked for more than ${host.maxRounds} rounds of input`);
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
    this.#pushed ??= import("./pushing.js").then(({ Pushed }) => new Pushed(this.#call, this.#host));
    return this.#pushed;
  }

  open(): Promise<Questions> {
    this.#questions ??= this.pushed().then((pushed) => pushed.questions);
    return this.#questions;
  }
}
