import { INVALID_PARAMS, Refusal } from "../protocol/jsonrpc/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";

/**
 * A handler for a method or notification of the author's own whose params are checked first. What does not fit never
 * reaches it: a request is answered with "invalid params", a notification is dropped and reported.
 */
export function withParams<S extends StandardSchema, Rest extends unknown[], Result>(
  schema: S,
  handler: (params: OutputOf<S>, ...rest: Rest) => Result | Promise<Result>,
): (params: Params | undefined, ...rest: Rest) => Promise<Result> {
  return async (params, ...rest) => {
    const { _meta, ...own } = params ?? {};
    const parsed = await parseStandard(schema, own);
    if (parsed.ok) return handler(parsed.value as OutputOf<S>, ...rest);
    const places = parsed.issues.map(({ path }) => path || "/").join(", ");
    throw new Refusal(INVALID_PARAMS, `Invalid params: ${places} must fit the schema`);
  };
}
