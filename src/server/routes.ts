import type { Call, HandlerResult } from "../era/era.js";
import { methodNotFound } from "../jsonrpc/error-codes.js";
import { late } from "../schema/late.js";
import type { Context } from "./context.js";
import type { Kind, Registry } from "./registry.js";
import type { RegisteredTool } from "./tool.js";
import { unknownItem } from "./unknown-item.js";

export type Route = (call: Call, ctx: Context) => HandlerResult | Promise<HandlerResult>;

type Serve = (registry: Registry, call: Call, ctx: Context) => HandlerResult | Promise<HandlerResult>;

const SERVE: readonly (readonly [method: string, serve: Serve])[] = [
  ["tools/list", lists("tools")],
  ["tools/call", callTool],
  ["prompts/list", lists("prompts")],
  ["prompts/get", loaded(async () => (await import("./serve-prompts.js")).getPrompt)],
  ["resources/list", loaded(async () => (await import("./serve-resources.js")).listResources)],
  ["resources/templates/list", lists("resources", "templates")],
  ["resources/read", loaded(async () => (await import("./serve-resources.js")).readResource)],
  ["completion/complete", loaded(async () => (await import("./complete-argument.js")).completeArgument)],
];

/** What the server itself answers, whatever the era: one entry per method of the specification. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  return new Map(SERVE.map(([method, serve]) => [method, (call, ctx) => serve(registry, call, ctx)]));
}

/** Not every server is asked for this, so it is loaded by those that are, once. */
function loaded(load: () => Promise<Serve>): Serve {
  const serving = late(load);
  return (registry, call, ctx) => {
    const serve = serving();
    return serve instanceof Promise ? serve.then((served) => served(registry, call, ctx)) : serve(registry, call, ctx);
  };
}

function lists(kind: Kind, catalogue: Kind | "templates" = kind): Serve {
  return (registry, call, ctx) => {
    if (!registry.offers(kind)) throw methodNotFound(call.method);
    return registry[catalogue].page(call.params.cursor, ctx);
  };
}

function callTool(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.offers("tools")) throw methodNotFound(call.method);
  const name = call.params.name as string;
  const run = (tool: RegisteredTool | undefined) => {
    if (tool === undefined) throw unknownItem("tool", name);
    return tool.call(call.params.arguments, ctx);
  };
  const found = registry.tools.find(name, ctx);
  return found instanceof Promise ? found.then(run) : run(found);
}
