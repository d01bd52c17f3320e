import { andThen, type MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult } from "../era/era.js";
import { methodNotFound } from "../jsonrpc/error-codes.js";
import { late } from "../schema/late.js";
import type { Context } from "./context.js";
import { contentChecks, customs } from "./late-checks.js";
import type { Kind, Registry } from "./registry.js";
import type { SeeingHost } from "./serve-resources.js";
import type { RegisteredTool } from "./tool.js";
import { unknownItem } from "./unknown-item.js";

export type Route = (call: Call, ctx: Context) => MaybePromise<HandlerResult>;

type Serve = (registry: Registry, call: Call, ctx: Context) => MaybePromise<HandlerResult>;

const prompts = late(() => import("./serve-prompts.js"));
const resources = late(() => import("./serve-resources.js"));
const completions = late(() => import("./complete-argument.js"));

const SERVE: readonly (readonly [method: string, serve: Serve])[] = [
  ["tools/list", lists("tools")],
  ["tools/call", callTool],
  ["prompts/list", lists("prompts")],
  ["prompts/get", by(prompts, ({ getPrompt }) => getPrompt)],
  ["resources/list", by(resources, ({ listResources }) => listResources)],
  ["resources/templates/list", lists("resources", "templates")],
  ["resources/read", by(resources, ({ readResource }) => readResource)],
  ["completion/complete", by(completions, ({ completeArgument }) => completeArgument)],
];

/** What the server itself answers, whatever the era: one entry per method of the specification. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  return new Map(SERVE.map(([method, serve]) => [method, (call, ctx) => serve(registry, call, ctx)]));
}

/**
 * Loads what calls of all that is defined would load: for wires that may end right after a call, which is answered only if
 * it waits for nothing.
 */
export async function prepareRoutes(registry: Registry): Promise<void> {
  await Promise.all([
    registry.prepare(),
    registry.tools.size > 0 && contentChecks(),
    ...registry.tools.values().map((tool) => tool.prepare()),
    registry.prompts.size > 0 && prompts(),
    registry.resources.size + registry.templates.size > 0 && resources(),
    registry.hasCompletions && completions(),
    registry.methods.size > 0 && customs(),
  ]);
}

/** Whether a caller may hear of a resource. */
export function sees(host: SeeingHost, call: Call, uri: string): MaybePromise<boolean> {
  const { resources: single, templates } = host.registry;
  if (!single.filtered && !templates.filtered) return true;
  return andThen(resources(), ({ seesResource }) => seesResource(host, call, uri));
}

/** Not every server is asked for this, so it is loaded by those that are, once. */
function by<Part>(loading: () => Part | Promise<Part>, pick: (part: Part) => Serve): Serve {
  return (registry, call, ctx) => andThen(loading(), (part) => pick(part)(registry, call, ctx));
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
