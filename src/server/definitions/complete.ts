import type { Call, HandlerResult } from "../../era/server-era.js";
import { methodNotFound } from "../../protocol/jsonrpc/errors.js";
import type { CompleteResult } from "../../protocol/types/index.js";
import type { Context } from "../context.js";
import { unknownItem } from "./catalogue.js";
import { boundCompletion, type Completers } from "./completion.js";
import type { Registry } from "./registry.js";
import type { RegisteredResource } from "./resource.js";
import { findResource } from "./resources.js";

/** Completers of an argument that does not exist. Clients expect an empty list for it, as for one without a completer. */
const NONE: Completers = {};

/** Suggests values for an argument of a prompt or a variable of a resource template. */
export async function completeArgument(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
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
    throw ref.type === "ref/prompt"
      ? unknownItem("prompt", ref.name ?? "")
      : unknownItem("resource template", ref.uri ?? "");
  const completers = target.names.includes(argument.name) ? target.complete : NONE;
  return complete(completers, argument, context?.arguments ?? {}, ctx);
}

/** Finds a template by its own text, or by a URI that it matches. */
async function findTemplate(registry: Registry, uri: string, ctx: Context): Promise<RegisteredResource | undefined> {
  const template = await registry.templates.find(uri, ctx);
  if (template !== undefined) return template;
  const found = await findResource(registry, uri, ctx);
  return found?.resource.template === undefined ? undefined : found.resource;
}

async function complete(
  completers: Completers,
  argument: { readonly name: string; readonly value: string },
  others: Readonly<Record<string, string>>,
  ctx: Context,
): Promise<CompleteResult> {
  const completer = Object.hasOwn(completers, argument.name) ? completers[argument.name] : undefined;
  const all = completer === undefined ? [] : await completer(argument.value, ctx, others);
  return { completion: boundCompletion({ values: [...all], total: all.length, hasMore: false }) };
}
