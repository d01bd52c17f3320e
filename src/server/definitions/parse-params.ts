import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import type { CustomMethod } from "./custom-method.js";

/**
 * The params as the handler of an author's own method wants them; throws a refusal that names the place otherwise. A
 * promise only where the schema validates asynchronously.
 */
export function parseParams({ name, params: schema }: CustomMethod, params: unknown): MaybePromise<unknown> {
  if (schema === undefined) return params;
  const { _meta, ...own } = (params ?? {}) as Record<string, unknown>;
  return andThen(schema.parse(own), (parsed) => {
    if (parsed.ok) return parsed.value;
    // Libraries may repeat the value in their messages: only the places are told.
    const places = parsed.issues.map(({ path }) => path || "/").join(", ");
    throw new Refusal(INVALID_PARAMS, `Invalid params for ${name}: ${places} must fit the schema`);
  });
}
