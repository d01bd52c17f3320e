import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import { missingCapability, undeclared } from "../../era/capabilities.js";
import { toResult } from "../../era/results.js";
import { type Call, type HandlerResult, PreparedResult, type ServerRuntime } from "../../era/server-era.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import { oneLine } from "../../protocol/text.js";
import type { CompleteResult } from "../../protocol/types/index.js";
import { Context } from "../context.js";
import { boundCompletion } from "./completion.js";
import type { CustomMethod } from "./custom-method.js";

/** Serves a call of a custom method. */
export async function runCustom(runtime: ServerRuntime, custom: CustomMethod, call: Call): Promise<HandlerResult> {
  const missing = undeclared(custom.requires, call.client.capabilities);
  if (missing !== undefined) throw missingCapability(missing);
  const parsed = await parseParams(custom, call.params);
  call.sealsState = custom.sealState;
  return (call.runner ?? call.era).runHandler(call, runtime, async (asker) => {
    const value = await custom.handler(parsed as never, new Context(call, asker, runtime));
    if (value instanceof PreparedResult) return value;
    if (custom.name !== "completion/complete" || !isCompletion(value)) return toResult(value, custom.name);
    return { ...value, completion: boundCompletion(value.completion) };
  });
}

function isCompletion(value: unknown): value is CompleteResult {
  return Array.isArray((value as Partial<CompleteResult> | null)?.completion?.values);
}

/**
 * Checks the params of a custom method by its schema. Throws a refusal that names the invalid members. Returns a
 * promise only if the schema is asynchronous.
 */
export function parseParams({ name, params: schema }: CustomMethod, params: unknown): MaybePromise<unknown> {
  if (schema === undefined) return params;
  const { _meta, ...own } = (params ?? {}) as Record<string, unknown>;
  return andThen(schema.parse(own), (parsed) => {
    if (parsed.ok) return parsed.value;
    // Includes only the paths, since messages of a schema library may repeat the value.
    const places = oneLine(parsed.issues.map(({ path }) => path || "/").join(", "), 1_000);
    throw new Refusal(INVALID_PARAMS, `Invalid params for ${name}: ${places} must match the schema`);
  });
}
