import type { Call, HandlerResult } from "../../era/server-era.js";
import { RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS, methodNotFound } from "../../protocol/jsonrpc/errors.js";
import { getPromptResult } from "../../protocol/shapes/content.js";
import { describeIssues, mustBe } from "../../protocol/text.js";
import type { GetPromptResult, InputRequiredResult, PromptMessage } from "../../protocol/types/index.js";
import type { Context } from "../context.js";
import { unknownItem } from "./catalogue.js";
import { isContentBlock, text } from "./content.js";
import type { PromptReturn } from "./prompt.js";
import type { Registry } from "./registry.js";
import { isInputRequired } from "./tool-result.js";

export async function getPrompt(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.offers("prompts")) throw methodNotFound(call.method);
  const { name, arguments: args = {} } = call.params as { readonly name: string; readonly arguments?: unknown };
  const prompt = await registry.prompts.find(name, ctx);
  if (prompt === undefined) throw unknownItem("prompt", name);
  const parsed = await prompt.arguments?.parse(args);
  if (parsed?.ok === false)
    throw new RpcError(
      INVALID_PARAMS,
      `Invalid params for prompt ${name}: ${describeIssues(parsed.issues, "/arguments")}`,
    );
  const value = await prompt.handler((parsed === undefined ? args : parsed.value) as never, ctx);
  const result = toResult(value, prompt.listing.description);
  const problem = isInputRequired(result) ? undefined : getPromptResult(result);
  if (problem === undefined) return result as HandlerResult;
  throw new Error(`Prompt "${name}" returned an invalid result: ${mustBe(problem)}`);
}

function toResult(value: PromptReturn, description: string | undefined): GetPromptResult | InputRequiredResult {
  const described = description === undefined ? undefined : { description };
  if (typeof value === "string") return { ...described, messages: [{ role: "user", content: text(value) }] };
  if (Array.isArray(value)) return { ...described, messages: value as PromptMessage[] };
  if (isContentBlock(value)) return { ...described, messages: [{ role: "user", content: value }] };
  return value as GetPromptResult | InputRequiredResult;
}
