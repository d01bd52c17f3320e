import { lazyModule } from "../call/lazy.js";
import { andThen, type MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult } from "../era/server-era.js";
import { methodNotFound } from "../protocol/jsonrpc/errors.js";
import type { Context } from "./context.js";
import { unknownItem } from "./definitions/catalogue.js";
import type { Kind, Registry } from "./definitions/registry.js";
import type { VisibilityRuntime } from "./definitions/resources.js";
import { extras, type RegisteredTool } from "./definitions/tool.js";
import { contentChecks } from "./definitions/tool-result.js";

export type Route = (call: Call, ctx: Context) => MaybePromise<HandlerResult>;

type Serve = (registry: Registry, call: Call, ctx: Context) => MaybePromise<HandlerResult>;

type More = typeof import("./lazy-routes.js");

/** What reads resources and prompts, completes, runs methods of authors' own and hands them notifications. */
export const more = lazyModule(() => import("./lazy-routes.js"));

const SERVE: readonly (readonly [method: string, serve: Serve])[] = [
  ["tools/list", lists("tools")],
  ["tools/call", callTool],
  ["prompts/list", lists("prompts")],
  ["prompts/get", by("getPrompt")],
  ["resources/list", by("listResources")],
  ["resources/templates/list", lists("resources", "templates")],
  ["resources/read", by("readResource")],
  ["completion/complete", by("completeArgument")],
];

/** What the server itself answers, whatever the era: one entry per method of the specification. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  return new Map(SERVE.map(([method, serve]) => [method, (call, ctx) => serve(registry, call, ctx)]));
}

/**
 * Loads what calls of all that is defined, or will be, could load: for wires that may end right after a call, which is answered only if
 * it waits for nothing.
 */
export async function prepareRoutes(registry: Registry): Promise<void> {
  await Promise.all([
    registry.prepare(),
    contentChecks(),
    extras(),
    ...registry.tools.values().map((tool) => tool.prepare()),
  ]);
}

/** Whether a caller may hear of a resource. */
export function sees(runtime: VisibilityRuntime, call: Call, uri: string): MaybePromise<boolean> {
  const { resources, templates } = runtime.registry;
  if (!resources.filtered && !templates.filtered) return true;
  return andThen(more(), ({ seesResource }) => seesResource(runtime, call, uri));
}

function by(name: "getPrompt" | "listResources" | "readResource" | "completeArgument"): Serve {
  return (registry, call, ctx) => andThen<More, HandlerResult>(more(), (part) => part[name](registry, call, ctx));
}

function lists(kind: Kind, catalogue: Kind | "templates" = kind): Serve {
  return (registry, call, ctx) => {
    if (!registry.offers(kind)) throw methodNotFound(call.method);
    return registry[catalogue].page(call.params.cursor, ctx);
  };
}

function callTool(registry: Registry, call: Call, ctx: Context): MaybePromise<HandlerResult> {
  if (!registry.offers("tools")) throw methodNotFound(call.method);
  const name = call.params.name as string;
  return andThen<RegisteredTool | undefined, HandlerResult>(registry.tools.find(name, ctx), (tool) => {
    if (tool === undefined) throw unknownItem("tool", name);
    return tool.call(call.params.arguments, ctx);
  });
}
