// The modern era has no such file: only a legacy server sends requests.

import { AbortSwitch, cancelledBy } from "../../../call/abort-switch.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import { progressTokenOf } from "../../../call/progress.js";
import { ProgressReporter, toReport } from "../../../call/progress-reporter.js";
import { type Served, ServedCalls } from "../../../call/served-calls.js";
import { ProtocolError, RpcError, toError } from "../../../protocol/errors.js";
import { INTERNAL_ERROR, toErrorObject } from "../../../protocol/jsonrpc/errors.js";
import { isWritable } from "../../../protocol/jsonrpc/format.js";
import type { Params, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { oneLine } from "../../../protocol/text.js";
import type { ClientResult, ClientRuntime, ReceivedRequests, ReportProgress } from "../../client-era.js";
import { toResult } from "../../results.js";
import type { ClientTransport } from "../../transport.js";
import { answerAt } from "../input.js";

/** Request of the server that is being answered. */
interface ServedRequest extends Served {
  readonly method: string;
}

/** Requests of a server to its client, until they are answered or cancelled. */
export class ServerRequests {
  readonly #transport: ClientTransport;
  readonly #runtime: ClientRuntime;
  readonly #version: () => string;
  readonly #received: ReceivedRequests | undefined;
  /** Requests whose response is not written yet. */
  readonly #served = new ServedCalls<ServedRequest>();
  #isFlooded = false;

  constructor(transport: ClientTransport, runtime: ClientRuntime, version: () => string) {
    this.#transport = transport;
    this.#runtime = runtime;
    this.#version = version;
    this.#received = runtime.extensions?.receiver?.open(runtime);
  }

  /**
   * Answers a request of the server, unless it or its call is cancelled first. A request above `maxQuestions` is
   * refused. While as many refusals wait to be written, further requests are dropped.
   */
  async serve(request: RpcRequest, call: CallLifetime | undefined): Promise<void> {
    const { maxQuestions } = this.#runtime.limits;
    if (this.#served.size >= 2 * maxQuestions) return this.#drop(request);
    const refusal = this.#served.size >= maxQuestions ? tooManyQuestions(maxQuestions) : undefined;
    this.#isFlooded = false;
    const end = new AbortSwitch();
    const endWithCall = (reason: unknown) => end.abort(reason);
    call?.onAbort(endWithCall);
    const served: ServedRequest = { id: request.id, method: request.method, end };
    this.#served.add(served);
    try {
      if (refusal !== undefined) throw refusal;
      const result = request.method === "ping" ? {} : await this.#answer(request, end);
      if (end.aborted) return;
      const answer = answerAt(this.#version(), request.method, toResult(result, request.method) as ClientResult);
      await this.#transport.respond(request.id, JSON.stringify(answer));
    } catch (error) {
      await this.#fail(served, error);
    } finally {
      this.#served.remove(served);
      call?.offAbort(endWithCall);
    }
  }

  /** Drops a request. The first of a series is reported. */
  #drop({ method }: RpcRequest): void {
    if (!this.#isFlooded)
      this.#runtime.onProblem(
        new ProtocolError(
          `${oneLine(method)} was dropped: ${this.#served.size} requests of the server are open, twice limits.maxQuestions`,
        ),
      );
    this.#isFlooded = true;
  }

  /**
   * Responds with an error, unless the request was cancelled. An `RpcError` is sent as it is, if its data can be
   * serialized. Other errors are reported here and sent as an internal error.
   */
  #fail({ id, end }: ServedRequest, error: unknown): void | Promise<void> {
    const deliberate = error instanceof RpcError;
    if (!deliberate && !end.isEchoedBy(error)) {
      this.#runtime.onProblem(toError(error));
    }
    if (end.aborted) return;
    const answer = deliberate ? toErrorObject(error) : undefined;
    const writable = answer !== undefined && isWritable(answer.data);
    return this.#transport.respondError(id, writable ? answer : { code: INTERNAL_ERROR, message: "Internal error" });
  }

  #answer({ method, params }: RpcRequest, end: AbortSwitch): Promise<ClientResult> {
    const progressToken = progressTokenOf(params);
    const served = this.#received ?? this.#runtime;
    if (progressToken === undefined) return served.answer(method, params, end, () => {});
    let over = false;
    const reporter = new ProgressReporter(
      (progress) => {
        if (!over && !end.aborted)
          return this.#transport.notify("notifications/progress", { progressToken, ...progress });
      },
      (error) => this.#runtime.onProblem(error),
    );
    const report: ReportProgress = (progress, total, message) => reporter.report(toReport(progress, total, message));
    return served.answer(method, params, end, report).finally(() => {
      over = true;
    });
  }

  /** Cancels a request because the server sent `notifications/cancelled`. */
  cancel(params: Params | undefined): void {
    const served = this.#served.find(params?.requestId);
    if (served === undefined) return;
    const reason = cancelledBy(params);
    const { id, method } = served;
    if (served.end.abort(reason)) this.#runtime.debug("call cancelled", { method, id, reason: reason.message });
  }

  /** Aborts all requests, since the connection has ended. */
  abortAll(reason: Error): void {
    this.#served.abortAll(reason);
    this.#received?.close(reason);
  }
}

function tooManyQuestions(most: number): RpcError {
  return new RpcError(
    INTERNAL_ERROR,
    `This client answers at most ${most} requests of a server at once (limits.maxQuestions)`,
    {
      limit: "maxQuestions",
      max: most,
    },
  );
}
