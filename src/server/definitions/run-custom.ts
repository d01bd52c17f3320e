import { missingCapability, undeclared } from "../../era/capabilities.js";
import { PreparedResult } from "../../era/prepared-result.js";
import type { Call, HandlerResult, ServerHost } from "../../era/server-era.js";
import { toResult } from "../../era/to-result.js";
import type { CompleteResult } from "../../protocol/types/index.js";
import { Context } from "../context.js";
import { boundCompletion } from "./completion.js";
import type { CustomMethod } from "./custom-method.js";
import { parseParams } from "./parse-params.js";

/** Serves a call of a method of the author's own. */
export async function runCustom(host: ServerHost, custom: CustomMethod, call: Call): Promise<HandlerResult> {
  const missing = undeclared(custom.requires, call.client.capabilities);
  if (missing !== undefined) throw missingCapability(missing);
  const parsed = await parseParams(custom, call.params);
  call.sealsState = custom.sealState;
  return call.era.settle(call, host, async (asker) => {
    const value = await custom.handler(parsed as never, new Context(call, asker, host));
    if (value instanceof PreparedResult) return value;
    if (custom.name !== "completion/complete" || !isCompletion(value)) return toResult(value, custom.name);
    return { ...value, completion: boundCompletion(value.completion) };
  });
}

function isCompletion(value: unknown): value is CompleteResult {
  return Array.isArray((value as Partial<CompleteResult> | null)?.completion?.values);
}
