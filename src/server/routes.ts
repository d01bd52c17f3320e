import type { MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult } from "../era/server-era.js";
import { methodNotFound } from "../protocol/jsonrpc/errors.js";
import type { Context } from "./context.js";
import { unknownItem } from "./definitions/catalogue.js";
import { completeArgument } from "./definitions/complete.js";
import { getPrompt } from "./definitions/prompts.js";
import type { Kind, Registry } from "./definitions/registry.js";
import { listResources, readResource, seesResource, type VisibilityRuntime } from "./definitions/resources.js";
import type { RegisteredTool } from "./definitions/tool.js";

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

/** What the server itself answers, whatever the era: one entry per method of the specification. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  return new Map(SERVE.map(([method, serve]) => [method, (call, ctx) => serve(registry, call, ctx)]));
}

/** Whether a caller may hear of a resource. */
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
