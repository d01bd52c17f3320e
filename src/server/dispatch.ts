import type { MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult, ServerHost } from "../era/era.js";
import { missingCapability, undeclared } from "../era/input-capability.js";
import { PreparedResult } from "../era/prepared-result.js";
import { toResult } from "../era/to-result.js";
import { invalidParams, methodNotFound } from "../jsonrpc/error-codes.js";
import { params } from "../schema/shapes.js";
import type { CompleteResult } from "../schema/types.js";
import { boundCompletion } from "./completion.js";
import { Context } from "./context.js";
import type { CustomMethod } from "./custom-method.js";
import type { Route } from "./routes.js";

/** What is asked of the params of a method that only the author knows. */
const anyParams = params({});

/** What a server can be asked. */
export interface Dispatcher {
  readonly host: ServerHost;
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
  if (custom !== undefined) return runCustom(server, custom, call);

  const builtin = era.builtins.get(method);
  if (builtin !== undefined) return builtin(call, server.host);

  const route = shape === undefined ? undefined : server.routes.get(method);
  if (route === undefined) throw methodNotFound(method);
  return era.settle(call, server.host, (asker) => route(call, new Context(call, asker, server.host)));
}

async function runCustom(server: Dispatcher, custom: CustomMethod, call: Call): Promise<HandlerResult> {
  const missing = undeclared(custom.requires, call.client.capabilities);
  if (missing !== undefined) throw missingCapability(missing);
  const parsed = await custom.parse(call.params);
  call.sealsState = custom.sealState;
  return call.era.settle(call, server.host, async (asker) => {
    const value = await custom.handler(parsed as never, new Context(call, asker, server.host));
    if (value instanceof PreparedResult) return value;
    if (custom.name !== "completion/complete" || !isCompletion(value)) return toResult(value, custom.name);
    return { ...value, completion: boundCompletion(value.completion) };
  });
}

function isCompletion(value: unknown): value is CompleteResult {
  return Array.isArray((value as Partial<CompleteResult> | null)?.completion?.values);
}
