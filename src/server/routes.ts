import type { Call } from "../era/call.js";
import type { HandlerResult } from "../era/era.js";
import { INVALID_PARAMS, methodNotFound } from "../jsonrpc/error-codes.js";
import { RpcError } from "../schema/errors.js";
import { complete } from "./completion.js";
import type { Context } from "./context.js";
import type { Registry } from "./registry.js";
import { resourceNotFound } from "./resource.js";

export type Route = (call: Call, ctx: Context) => HandlerResult | Promise<HandlerResult>;

/** What the server itself answers, whatever the era: one entry per method of the specification. */
export function createRoutes(registry: Registry): ReadonlyMap<string, Route> {
  return new Map<string, Route>([
    ["tools/list", (call) => listed(call, registry.tools.size > 0, registry.tools)],
    ["tools/call", (call, ctx) => callTool(registry, call, ctx)],
    ["prompts/list", (call) => listed(call, registry.prompts.size > 0, registry.prompts)],
    ["prompts/get", (call, ctx) => getPrompt(registry, call, ctx)],
    ["resources/list", (call) => listed(call, registry.hasResources, registry.resources)],
    ["resources/templates/list", (call) => listed(call, registry.hasResources, registry.templates)],
    ["resources/read", (call, ctx) => readResource(registry, call, ctx)],
    ["completion/complete", (call, ctx) => completeArgument(registry, call, ctx)],
  ]);
}

function listed(call: Call, offered: boolean, catalogue: { page(cursor: unknown): HandlerResult }): HandlerResult {
  if (!offered) throw methodNotFound(call.method);
  return catalogue.page(call.params.cursor);
}

async function callTool(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (registry.tools.size === 0) throw methodNotFound(call.method);
  const tool = registry.tools.get(call.params.name as string);
  if (tool === undefined) throw new RpcError(INVALID_PARAMS, "Unknown tool: /name is not among the listed tools");
  return tool.call(call.params.arguments, ctx);
}

async function getPrompt(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (registry.prompts.size === 0) throw methodNotFound(call.method);
  const prompt = registry.prompts.get(call.params.name as string);
  if (prompt === undefined) throw new RpcError(INVALID_PARAMS, "Unknown prompt: /name is not among the listed prompts");
  return prompt.get(call.params.arguments, ctx);
}

async function readResource(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.hasResources) throw methodNotFound(call.method);
  const uri = call.params.uri as string;
  const found = registry.findResource(uri);
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
  const target =
    ref.type === "ref/prompt" ? registry.prompts.get(ref.name ?? "") : registry.templates.get(ref.uri ?? "");
  if (target === undefined)
    throw new RpcError(INVALID_PARAMS, "Invalid params: /ref names nothing that this server has");
  return complete(target.complete, argument, context?.arguments ?? {}, ctx);
}
