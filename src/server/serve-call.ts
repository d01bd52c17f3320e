import { composeInterceptors } from "../call/interceptor.js";
import { andThen, type MaybePromise } from "../call/maybe-promise.js";
import { Busy } from "../era/busy.js";
import { readAgain } from "../era/request-shapes.js";
import { type Call, type HandlerResult, type Outcome, PreparedResult, type ServerRuntime } from "../era/server-era.js";
import { RpcError } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import { INTERNAL_ERROR, LIMIT_EXCEEDED, methodNotFound, Refusal } from "../protocol/jsonrpc/errors.js";
import { isWritable } from "../protocol/jsonrpc/format.js";
import { params } from "../protocol/shapes/common.js";
import { oneLine } from "../protocol/text.js";
import type { Admission } from "./admission.js";
import { type CallInterceptor, toPlain } from "./call-info.js";
import { Context } from "./context.js";
import { unknownItem } from "./definitions/catalogue.js";
import { completeArgument } from "./definitions/complete.js";
import { getPrompt } from "./definitions/prompts.js";
import type { Kind, Registry } from "./definitions/registry.js";
import {
  definesResource,
  listResources,
  readResource,
  seesResource,
  type VisibilityRuntime,
} from "./definitions/resources.js";
import { runCustom } from "./definitions/run-custom.js";
import type { RegisteredTool } from "./definitions/tool.js";

/** Checks the params of a custom method. */
const anyParams = params({});

const DROPPED: Outcome = { kind: "dropped" };
const INTERNAL = { code: INTERNAL_ERROR, message: "Internal error" };

/** Server runtime with the methods that it implements, and with the checks that a call passes before it runs. */
export interface MethodTables extends ServerRuntime {
  /** Methods of the specification that work the same in each era. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Definitions, including custom methods. */
  readonly registry: Pick<Registry, "methods">;
  /** Counts and limits the running calls. */
  readonly admission: Admission;
  /** Throws if the caller exceeds its rate limit. Undefined if the server has no rate limit. */
  readonly checkRate: ((call: Call) => MaybePromise<void>) | undefined;
  /** True if an era of this server specifies the method. */
  isSpecified(method: string): boolean;
}

/**
 * Creates the function that serves a call on each transport: dispatch, handler, encoded outcome. It works synchronously
 * unless a handler, check or interceptor is asynchronous, and never throws or rejects. Interceptors wrap `dispatch` and
 * get a promise from `next`. Without interceptors no promise is created for them.
 */
export function createServe(server: MethodTables, interceptors: readonly CallInterceptor[]): ServerRuntime["run"] {
  const start = withInterceptors(server, interceptors);
  const startWithinRate = withinRate(server.checkRate, start);
  const isWrapped = interceptors.length > 0;
  return (call, skipsRateLimit) => {
    const busy = server.admission.enter(call);
    if (busy !== undefined) return refuse(server, call, busy);
    let result: MaybePromise<HandlerResult>;
    try {
      result = (skipsRateLimit ? start : startWithinRate)(server, call);
    } catch (error) {
      return fail(server, call, error);
    }
    if (!(result instanceof Promise)) return succeed(server, call, result);
    return result.then(
      (result) => succeed(server, call, isWrapped ? PreparedResult.of(result) : result),
      (error: unknown) => fail(server, call, error),
    );
  };
}

type Dispatch = (server: MethodTables, call: Call) => MaybePromise<HandlerResult>;

function withInterceptors(server: MethodTables, interceptors: readonly CallInterceptor[]): Dispatch {
  if (interceptors.length === 0) return dispatch;
  const intercepted = composeInterceptors(interceptors, async (call: Call) => {
    const result = dispatch(server, call);
    return toPlain(result instanceof Promise ? await result : result);
  });
  return (_server, call) => intercepted(call);
}

/** Starts a call after its rate limit is checked. Does not start it if it was cancelled during the check. */
function withinRate(checkRate: MethodTables["checkRate"], run: Dispatch): Dispatch {
  if (checkRate === undefined) return run;
  return (server, call) =>
    andThen(checkRate(call), () => {
      if (call.end.aborted) throw call.end.reason;
      return run(server, call);
    });
}

/**
 * Finds the method, checks the params and runs the handler. A custom method takes precedence over a method that the era
 * itself serves, and that over a route of the server.
 */
function dispatch(server: MethodTables, call: Call): MaybePromise<HandlerResult> {
  const { era, method } = call;
  const shape = era.methods.get(method);
  if (shape === undefined && server.isSpecified(method)) throw methodNotFound(method);

  const problem = (shape?.params ?? anyParams)(call.params);
  if (problem !== undefined) call.params = readAgain(call, shape?.params ?? anyParams, problem);

  const custom = server.registry.methods.get(method);
  if (custom !== undefined) return runCustom(server, custom, call);

  const builtin = era.builtins.get(method);
  if (builtin !== undefined) return builtin(call, server);

  const route = shape && server.routes.get(method);
  if (route === undefined) throw methodNotFound(method);
  return (call.runner ?? era).runHandler(call, server, (requests) => route(call, new Context(call, requests, server)));
}

function succeed(server: MethodTables, call: Call, result: HandlerResult): Outcome {
  try {
    return call.end.aborted ? DROPPED : { kind: "result", result: call.era.encode(call, result, server) };
  } catch (error) {
    return toOutcome(server, call, error);
  } finally {
    server.admission.leave(call);
    call.close();
  }
}

function fail(server: MethodTables, call: Call, error: unknown): Outcome {
  server.admission.leave(call);
  return refuse(server, call, error);
}

/** Ends a call that was not started, or that failed. */
function refuse(server: MethodTables, call: Call, error: unknown): Outcome {
  try {
    return toOutcome(server, call, error);
  } finally {
    call.close();
  }
}

/**
 * Converts an error to an outcome. An `RpcError` is sent to the client. Any other error is reported to the author, and
 * the client gets "Internal error". Nothing is sent after the call was aborted.
 */
export function toOutcome(runtime: ServerRuntime, call: Call, error: unknown): Outcome {
  const context = { where: "handler", method: call.method, id: call.id, ...namedBy(call.params) };
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
  const encoded = call.era.encodeError(error instanceof Refusal ? error : withoutProof(error), call);
  if (error instanceof Busy) return { kind: "error", error: encoded, refused: true, busy: error };
  if (isWritable(encoded.data)) return { kind: "error", error: encoded, refused: error instanceof Refusal };
  runtime.report(new Error(`The data of error ${error.rpcCode} is not JSON`, { cause: error }), context);
  return { kind: "error", error: INTERNAL, refused: false };
}

/**
 * Returns an error of a handler without the member that proves that no handler ran. A handler may throw the error of another
 * server, which refused a call of its own.
 */
function withoutProof(error: RpcError): RpcError {
  const { rpcCode, message, data } = error;
  if (rpcCode !== LIMIT_EXCEEDED || !isObject(data) || data.refused !== true) return error;
  const { refused: _refused, ...rest } = data;
  return new RpcError(rpcCode, message, rest);
}

/** Returns the name or URI in the params of a call, for a report. */
function namedBy({ name, uri = name }: Call["params"]): { readonly name?: string } {
  return typeof uri === "string" ? { name: oneLine(uri) } : {};
}

/** Serves a method of the specification. */
export type Route = (call: Call, ctx: Context) => MaybePromise<HandlerResult>;

type Serve = (registry: Registry, call: Call, ctx: Context) => MaybePromise<HandlerResult>;

const SERVE: readonly (readonly [method: string, serve: Serve])[] = [
  ["tools/list", lists("tools")],
  ["tools/call", callTool],
  ["prompts/list", lists("prompts")],
  ["prompts/get", getPrompt],
  ["resources/list", listResources],
  ["resources/templates/list", lists("resources", "templates")],
  ["resources/read", readResource],
  ["completion/complete", completeArgument],
];

/** Returns the methods of the specification that work the same in each era. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  return new Map(SERVE.map(([method, serve]) => [method, (call, ctx) => serve(registry, call, ctx)]));
}

/** True if a resource exists for the caller. A handler of the author's own may know of resources without a definition. */
export function hasResource(runtime: VisibilityRuntime, call: Call, uri: string): MaybePromise<boolean> {
  const { registry } = runtime;
  if (registry.methods.has("resources/read")) return true;
  return definesResource(registry, uri) && sees(runtime, call, uri);
}

/** True if the caller may know of a resource. */
export function sees(runtime: VisibilityRuntime, call: Call, uri: string): MaybePromise<boolean> {
  const { resources, templates } = runtime.registry;
  if (!resources.filtered && !templates.filtered) return true;
  return seesResource(runtime, call, uri);
}

function lists(kind: Kind, catalogue: Kind | "templates" = kind): Serve {
  return (registry, call, ctx) => {
    if (!registry.offers(kind)) throw methodNotFound(call.method);
    return registry[catalogue].page(call.params.cursor, ctx);
  };
}

function callTool(registry: Registry, call: Call, ctx: Context): MaybePromise<HandlerResult> {
  const found = registry.tools.find(call.params.name as string, ctx);
  return found instanceof Promise
    ? found.then((tool) => runTool(registry, call, ctx, tool))
    : runTool(registry, call, ctx, found);
}

function runTool(
  registry: Registry,
  call: Call,
  ctx: Context,
  tool: RegisteredTool | undefined,
): MaybePromise<HandlerResult> {
  if (tool !== undefined) return tool.call(call.params.arguments, ctx);
  throw registry.offers("tools") ? unknownItem("tool", call.params.name as string) : methodNotFound(call.method);
}
