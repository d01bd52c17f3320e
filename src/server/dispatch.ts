import type { MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult, ServerRuntime } from "../era/server-era.js";
import { invalidParams, methodNotFound } from "../protocol/jsonrpc/errors.js";
import { params } from "../protocol/shapes/common.js";
import { Context } from "./context.js";
import type { CustomMethod } from "./definitions/custom-method.js";
import { runCustom } from "./definitions/run-custom.js";
import type { Route } from "./routes.js";

/** What is asked of the params of a method that only the author knows. */
const anyParams = params({});

/** What a server can be asked. */
export interface Dispatcher {
  readonly runtime: ServerRuntime;
  readonly routes: ReadonlyMap<string, Route>;
  readonly methods: ReadonlyMap<string, CustomMethod>;
  /** Whether some era of this server has a method of this name. */
  isSpecified(method: string): boolean;
}

/**
 * Serves one call: route, check, run, settle. The one place to read to know what a server does with a request.
 * The author's own methods come first, then the era's, then the server's.
 */
export function dispatch(server: Dispatcher, call: Call): MaybePromise<HandlerResult> {
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
  return era.runHandler(call, server.runtime, (asker) => route(call, new Context(call, asker, server.runtime)));
}
