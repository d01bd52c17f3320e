// Counterpart of `replay.ts` in the modern era: both send a handler's questions to the client.

import { CallLifetime } from "../../../call/lifetime.js";
import { tellProgress } from "../../../call/progress.js";
import { type JournalHost, JournalRun, memoryJournal } from "../../../journal/run.js";
import { Steps } from "../../../journal/steps.js";
import { McpError, ProtocolError, RpcError, type UrlElicitationRequiredError } from "../../../protocol/errors.js";
import { INTERNAL_ERROR, toRpcError } from "../../../protocol/jsonrpc/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import { inputShapes } from "../../../protocol/shapes/input.js";
import { mustBe } from "../../../protocol/text.js";
import type { InputRequest, InputResponses } from "../../../protocol/types/index.js";
import { assertQuestions, findAnswerProblem } from "../../../schema/input-rules.js";
import { undeclaredFor } from "../../capabilities.js";
import type { AskOptions, RequestStrategy } from "../../request-strategy.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { paramsAt } from "../input.js";
import { LegacySession } from "./session.js";

/** Sends questions as requests of the server and waits for the responses. */
export class PushStrategy implements RequestStrategy {
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  /** Journal of all runs of the handler, and its steps, which may be under way when the next run begins. */
  readonly #host: JournalHost;
  readonly #steps = new Steps();
  #run: JournalRun;

  constructor(call: Call, runtime: ServerRuntime) {
    this.#call = call;
    this.#runtime = runtime;
    this.#host = memoryJournal(call.end);
    this.#run = new JournalRun(this.#host, this.#steps);
  }

  get run(): JournalRun {
    return this.#run;
  }

  /** Sends all questions of an `inputRequired` result at once. The state stays in this process. */
  async answerRound(result: Result): Promise<void> {
    const requests = (result.inputRequests ?? {}) as Record<string, InputRequest>;
    assertQuestions(requests);
    const answers = Object.entries(requests).map(async ([key, request]) => {
      const check = (answer: unknown) => findAnswerProblem(request, answer);
      return [key, await this.ask(request, { check })] as const;
    });
    this.#call.inputResponses = Object.fromEntries(await Promise.all(answers)) as InputResponses;
    this.#call.authoredState = result.requestState;
    this.#run = new JournalRun(this.#host, this.#steps);
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const call = this.#call;
    const { capabilities, version } = call.client;
    if (request.method === "elicitation/create" && version < "2025-06-18") {
      throw new McpError("missing_capability", `Protocol version ${version} has no ${request.method}`);
    }
    const missing = undeclaredFor(request, capabilities, version);
    if (missing !== undefined) {
      throw new McpError(
        "missing_capability",
        `The client cannot answer ${request.method}: it did not declare ${JSON.stringify(missing)}`,
      );
    }
    this.#run.question(JSON.stringify(request), options.key);
    const params = paramsAt(version, request, options.elicitationId);
    if (typeof params.elicitationId === "string") LegacySession.of(call).addUrlElicitation(params.elicitationId);
    const result = await this.push(request.method, params, options);
    const problem = inputShapes.get(request.method)?.result(result) ?? (await options.check?.(result));
    if (problem === undefined) return result;
    const why = typeof problem === "string" ? problem : mustBe(problem);
    throw new ProtocolError(`The client's response to ${request.method} is invalid: ${why}`);
  }

  async push(method: string, params: Params | undefined, options: AskOptions): Promise<Result> {
    const call = this.#call;
    const limits = {
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? this.#runtime.limits.askTimeoutMs,
    };
    const lifetime = new CallLifetime(method, limits, this.#runtime.clock);
    const endWithCall = (reason: unknown) => lifetime.abort(reason);
    call.end.onAbort(endWithCall);
    try {
      const session = LegacySession.of(call);
      if (!session.isReady) await untilReady(session, lifetime);
      const response = await call.wire.request(call, method, params, lifetime, this.#toListener(options));
      if ("error" in response) throw toRpcError(response.error, method);
      return response.result;
    } finally {
      call.end.offAbort(endWithCall);
      lifetime.close();
    }
  }

  #toListener(options: AskOptions): ((params: Params) => void) | undefined {
    const { onProgress } = options;
    if (onProgress === undefined) return undefined;
    const { method, id } = this.#call;
    return (params) =>
      tellProgress(onProgress, params, (error) => this.#runtime.report(error, { where: "progress", method, id }));
  }

  /** Returns the error for a client that can open URLs, otherwise an internal error. */
  toUrlError(error: UrlElicitationRequiredError): RpcError {
    if (this.#call.client.capabilities.elicitation?.url === undefined) {
      return new RpcError(
        INTERNAL_ERROR,
        "The user must open a URL first, and the client did not declare elicitation.url",
      );
    }
    const session = LegacySession.of(this.#call);
    for (const { elicitationId } of error.elicitations) session.addUrlElicitation(elicitationId);
    return error;
  }
}

/** Waits for `notifications/initialized`, before which no request may be sent to the client. */
function untilReady(session: LegacySession, lifetime: CallLifetime): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (reason: unknown) => {
      stop();
      reject(reason);
    };
    const stop = session.onReady(() => {
      lifetime.offAbort(giveUp);
      resolve();
    });
    lifetime.onAbort(giveUp);
  });
}
