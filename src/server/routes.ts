import type { MaybePromise } from "../call/maybe-promise.js";
import type { Call, HandlerResult } from "../era/era.js";
import { PreparedResult } from "../era/prepared-result.js";
import { INVALID_PARAMS, methodNotFound } from "../jsonrpc/error-codes.js";
import { RpcError } from "../schema/errors.js";
import type { Resource } from "../schema/types.js";
import { complete } from "./completion.js";
import type { Context } from "./context.js";
import type { Registry } from "./registry.js";
import { type RegisteredResource, resourceNotFound } from "./resource.js";
import type { RegisteredTool } from "./tool.js";

export type Route = (call: Call, ctx: Context) => MaybePromise<HandlerResult>;

/** What the server itself answers, whatever the era: one entry per method of the specification. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  const { tools, prompts, templates } = registry;
  return new Map<string, Route>([
    ["tools/list", (call, ctx) => listed(call, ctx, registry.offers("tools"), tools)],
    ["tools/call", (call, ctx) => callTool(registry, call, ctx)],
    ["prompts/list", (call, ctx) => listed(call, ctx, registry.offers("prompts"), prompts)],
    ["prompts/get", (call, ctx) => getPrompt(registry, call, ctx)],
    ["resources/list", (call, ctx) => listResources(registry, call, ctx)],
    ["resources/templates/list", (call, ctx) => listed(call, ctx, registry.hasResources, templates)],
    ["resources/read", (call, ctx) => readResource(registry, call, ctx)],
    ["completion/complete", (call, ctx) => completeArgument(registry, call, ctx)],
  ]);
}

interface Pages {
  page(cursor: unknown, ctx: Context): MaybePromise<HandlerResult>;
}

function listed(call: Call, ctx: Context, offered: boolean, pages: Pages): MaybePromise<HandlerResult> {
  if (!offered) throw methodNotFound(call.method);
  return pages.page(call.params.cursor, ctx);
}

/** Single resources page by page; the last page ends with the members of families that can enumerate them. */
async function listResources(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  const page = await listed(call, ctx, registry.hasResources, registry.resources);
  const families = registry.templates.values().filter(({ options }) => options.list !== undefined);
  const plain = page instanceof PreparedResult ? page.result : page;
  if (families.length === 0 || plain.nextCursor !== undefined) return page;
  const members = await Promise.all(
    families.map(async (family) => (((await family.access?.(ctx)) ?? true) ? family.enumerate(ctx) : [])),
  );
  return { ...plain, resources: [...(plain.resources as Resource[]), ...members.flat()] };
}

function callTool(registry: Registry, call: Call, ctx: Context): MaybePromise<HandlerResult> {
  if (!registry.offers("tools")) throw methodNotFound(call.method);
  const found = registry.tools.find(call.params.name as string, ctx);
  return found instanceof Promise ? found.then((tool) => runTool(tool, call, ctx)) : runTool(found, call, ctx);
}

function runTool(tool: RegisteredTool | undefined, call: Call, ctx: Context): MaybePromise<HandlerResult> {
  if (tool === undefined) throw unknownItem("tool", call.params.name as string);
  return tool.call(call.params.arguments, ctx);
}

async function getPrompt(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.offers("prompts")) throw methodNotFound(call.method);
  const name = call.params.name as string;
  const prompt = await registry.prompts.find(name, ctx);
  if (prompt === undefined) throw unknownItem("prompt", name);
  return prompt.get(call.params.arguments, ctx);
}

async function readResource(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.hasResources) throw methodNotFound(call.method);
  const uri = call.params.uri as string;
  const found = await registry.findResource(uri, ctx);
  if (found === undefined) throw resourceNotFound(uri);
  return found.resource.read(uri, found.variables, ctx);
}

async function completeArgument(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.hasCompletions) throw methodNotFound(call.method);
  const { ref, argument, context } = call.params as {
    ref: { type: string; name?: string; uri?: string };
    argument: { name: string; value: string };
    context?: { arguments?: Record<string, string> };
  };
  const target = await (ref.type === "ref/prompt"
    ? registry.prompts.find(ref.name ?? "", ctx)
    : findTemplate(registry, ref.uri ?? "", ctx));
  if (target === undefined)
    throw new RpcError(INVALID_PARAMS, "Invalid params: /ref names nothing that this server has");
  if (!target.names.includes(argument.name))
    throw new RpcError(INVALID_PARAMS, "Invalid params: /argument/name is not one that /ref has");
  return complete(target.complete, argument, context?.arguments ?? {}, ctx);
}

/** A template by its own text, or by a URI that it matches. */
async function findTemplate(registry: Registry, uri: string, ctx: Context): Promise<RegisteredResource | undefined> {
  const template = await registry.templates.find(uri, ctx);
  if (template !== undefined) return template;
  const found = await registry.findResource(uri, ctx);
  return found?.resource.template === undefined ? undefined : found.resource;
}

/** The caller's own name for it, bounded: it may be anything. */
function unknownItem(noun: string, name: string): RpcError {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name;
  return new RpcError(INVALID_PARAMS, `Unknown ${noun}: ${shown} is not among the listed ${noun}s`);
}
