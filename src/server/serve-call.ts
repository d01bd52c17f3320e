import type { MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult, Outcome, ServerRuntime } from "../era/server-era.js";
import { RpcError } from "../protocol/errors.js";
import { INTERNAL_ERROR, invalidParams, methodNotFound, Refusal } from "../protocol/jsonrpc/errors.js";
import { isWritable } from "../protocol/jsonrpc/format.js";
import { params } from "../protocol/shapes/common.js";
import { Context } from "./context.js";
import type { CustomMethod } from "./definitions/custom-method.js";
import { runCustom } from "./definitions/run-custom.js";
import type { Route } from "./routes.js";

/** Checks the params of a method that only the author knows. */
const anyParams = params({});

const DROPPED: Outcome = { kind: "dropped" };
const INTERNAL = { code: INTERNAL_ERROR, message: "Internal error" };

/** The methods that a server can be asked. */
export interface MethodTables {
  readonly runtime: ServerRuntime;
  /** The methods of the specification that the server answers, whatever the era. */
  readonly routes: ReadonlyMap<string, Route>;
  /** The author's own methods. */
  readonly methods: ReadonlyMap<string, CustomMethod>;
  /** Whether some era of this server has a method of this name. */
  isSpecified(method: string): boolean;
}

/**
 * Serves one call to its end, over every transport: dispatch, handler, encoded outcome. In this turn, unless something in it takes
 * time. Never throws or rejects. `dispatchCall` is `dispatch` with the author's interceptors around it.
 */
export function serveCall(
  runtime: ServerRuntime,
  dispatchCall: (call: Call) => MaybePromise<HandlerResult>,
  call: Call,
): MaybePromise<Outcome> {
  let result: MaybePromise<HandlerResult>;
  try {
    result = dispatchCall(call);
  } catch (error) {
    return fail(runtime, call, error);
  }
  if (!(result instanceof Promise)) return succeed(runtime, call, result);
  return result.then(
    (result) => succeed(runtime, call, result),
    (error: unknown) => fail(runtime, call, error),
  );
}

/**
 * Finds the method, checks its params, and runs it. The author's own methods come first, then the era's, then the server's.
 */
export function dispatch(server: MethodTables, call: Call): MaybePromise<HandlerResult> {
  const { era, method } = call;
  const shape = era.methods.get(method);
  if (shape === undefined && server.isSpecified(method)) throw methodNotFound(method);

  const problem = (shape?.params ?? anyParams)(call.params);
  if (problem !== undefined) throw invalidParams(method, problem);

  const custom = server.methods.get(method);
  if (custom !== undefined) return runCustom(server.runtime, custom, call);

  const builtin = era.builtins.get(method);
  if (builtin !== undefined) return builtin(call, server.runtime);

  const route = shape === undefined ? undefined : server.routes.get(method);
  if (route === undefined) throw methodNotFound(method);
  return era.runHandler(call, server.runtime, (requests) => route(call, new Context(call, requests, server.runtime)));
}

function succeed(runtime: ServerRuntime, call: Call, result: HandlerResult): Outcome {
  try {
    return call.end.aborted ? DROPPED : { kind: "result", result: call.era.encode(call, result, runtime) };
  } catch (error) {
    return toOutcome(runtime, call, error);
  } finally {
    call.close();
  }
}

function fail(runtime: ServerRuntime, call: Call, error: unknown): Outcome {
  try {
    return toOutcome(runtime, call, error);
  } finally {
    call.close();
  }
}

/** A deliberate error goes out as it is; any other is reported here and stays opaque there. */
function toOutcome(runtime: ServerRuntime, call: Call, error: unknown): Outcome {
  const context = { where: "handler", method: call.method, id: call.id };
  if (call.end.aborted) {
    if (!(error instanceof RpcError) && !call.end.isEchoedBy(error)) runtime.report(error, context);
    return DROPPED;
  }
  if (!(error instanceof RpcError) || !Number.isInteger(error.rpcCode)) {
    runtime.report(error, context);
    return { kind: "error", error: INTERNAL, refused: false };
  }
  const misuse = call.era.misuse(error.rpcCode);
  if (misuse !== undefined) runtime.report(new Error(misuse, { cause: error }), context);
  const encoded = call.era.encodeError(error, call);
  if (isWritable(encoded.data)) return { kind: "error", error: encoded, refused: error instanceof Refusal };
  runtime.report(new Error("the data of an error cannot be written as JSON", { cause: error }), context);
  return { kind: "error", error: INTERNAL, refused: false };
}
