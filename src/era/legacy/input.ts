import { CallScope } from "../../call/scope.js";
import { tellProgress } from "../../call/tell-progress.js";
import { fromErrorObject } from "../../jsonrpc/error-codes.js";
import type { Params } from "../../jsonrpc/message.js";
import { McpError, ProtocolError } from "../../schema/errors.js";
import { inputShapes } from "../../schema/input-shapes.js";
import type { InputRequest } from "../../schema/types.js";
import type { Call } from "../call.js";
import type { Asker, AskOptions, HandlerResult, Result, ServerHost } from "../era.js";
import { undeclaredFor } from "../input-capability.js";
import { LegacySession } from "./session.js";

/** Runs a handler whose questions are sent to the client as requests while it waits. */
export function settleByPushing(
  call: Call,
  host: ServerHost,
  run: (asker: Asker) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  return run(new Pushed(call, host));
}

class Pushed implements Asker {
  readonly #call: Call;
  readonly #host: ServerHost;

  constructor(call: Call, host: ServerHost) {
    this.#call = call;
    this.#host = host;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const call = this.#call;
    if (request.method === "elicitation/create" && call.client.version < "2025-06-18") {
      throw new McpError("missing_capability", `Protocol version ${call.client.version} has no ${request.method}`);
    }
    const missing = undeclaredFor(request, call.client.capabilities);
    if (missing !== undefined) {
      throw new McpError(
        "missing_capability",
        `The client cannot answer ${request.method}: it did not declare ${Object.keys(missing)}`,
      );
    }
    const params = paramsAt(call.client.version, request);
    const result = await this.push(request.method, params, options);
    const problem = inputShapes.get(request.method)?.result(result) ?? (await options.check?.(result));
    if (problem === undefined) return result;
    throw new ProtocolError(
      `The client's answer to ${request.method} is wrong at ${problem.path}: expected ${problem.expected}`,
    );
  }

  async push(method: string, params: Params | undefined, options: AskOptions): Promise<Result> {
    const call = this.#call;
    const limits = { signal: options.signal, timeoutMs: options.timeoutMs ?? this.#host.askTimeoutMs };
    const scope = new CallScope(method, limits, this.#host.clock);
    const endWithCall = (reason: unknown) => scope.abort(reason);
    call.end.onAbort(endWithCall);
    try {
      const session = LegacySession.of(call);
      if (!session.isReady) await untilReady(session, scope);
      const response = await call.wire.request(call, method, params, scope, this.#toListener(options));
      if ("error" in response) throw fromErrorObject(response.error, method);
      return response.result;
    } finally {
      call.end.offAbort(endWithCall);
      scope.close();
    }
  }

  #toListener(options: AskOptions): ((params: Params) => void) | undefined {
    const { onProgress } = options;
    if (onProgress === undefined) return undefined;
    const { method, id } = this.#call;
    return (params) =>
      tellProgress(onProgress, params, (error) => this.#host.report(error, { where: "progress", method, id }));
  }

  /** The handler runs once, so its steps do. */
  async step<T>(_name: string, work: () => T | Promise<T>): Promise<T> {
    return work();
  }
}

/** Nothing is asked before the client has finished its part of the handshake. */
function untilReady(session: LegacySession, scope: CallScope): Promise<void> {
  return new Promise((resolve, reject) => {
    scope.onAbort(reject);
    session.onReady(() => {
      scope.offAbort(reject);
      resolve();
    });
  });
}

/** Modes of elicitation are named from 2025-11-25 on; a question by URL needs an id there. */
function paramsAt(version: string, request: InputRequest): Params | undefined {
  if (request.method !== "elicitation/create") return request.params as unknown as Params | undefined;
  const { mode, ...params } = request.params as unknown as { mode?: string } & Params;
  if (mode === "url") return { elicitationId: crypto.randomUUID(), ...params, mode };
  return version >= "2025-11-25" && mode !== undefined ? { ...params, mode } : params;
}
