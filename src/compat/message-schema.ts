import { RpcError } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";
import { describeIssues } from "../protocol/text.js";
import type { CompletionReference, LoggingLevel, Meta, PaginatedParams } from "../protocol/types/index.js";
import { type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";
import { isSchema } from "./shape.js";
import { describeZod } from "./zod.js";

/** Method, or a zod schema of its request or notification from the official SDK. */
export type MethodSchema = string | { readonly shape: { readonly method: unknown } };

/**
 * Schemas of a custom method, in the form of version 2 of the official SDK. `result` is accepted for compatibility, but
 * results are not validated against it.
 */
export interface ParamsSchemas<P extends StandardSchema = StandardSchema> {
  readonly params: P;
  readonly result?: StandardSchema;
}

/** Params of the methods that a handler can serve. */
export interface ParamsOf {
  "tools/call": { name: string; arguments?: Record<string, unknown> };
  "prompts/get": { name: string; arguments?: Record<string, string> };
  "resources/read": { uri: string };
  "resources/subscribe": { uri: string };
  "resources/unsubscribe": { uri: string };
  "logging/setLevel": { level: LoggingLevel };
  "completion/complete": {
    ref: CompletionReference;
    argument: { name: string; value: string };
    context?: { arguments?: Record<string, string> };
  };
  "tools/list": PaginatedParams;
  "prompts/list": PaginatedParams;
  "resources/list": PaginatedParams;
  "resources/templates/list": PaginatedParams;
}

/** Message that a handler receives for a schema or method. */
export type MessageOf<S> = S extends StandardSchema
  ? OutputOf<S>
  : S extends keyof ParamsOf
    ? { method: S; params: ParamsOf[S] & { _meta?: Meta } }
    : { method: string; params: Record<string, unknown> };

/** Returns the method of a schema of the official SDK. */
export function methodOf(schema: MethodSchema): string {
  if (typeof schema === "string") return schema;
  const literal = schema.shape.method;
  const value = isObject(literal) ? literal.value : undefined;
  if (typeof value !== "string")
    throw new TypeError(
      'setRequestHandler and setNotificationHandler need a schema of the official SDK, or a method such as "tools/list"',
    );
  return value;
}

/** Returns the argument of a handler: the params if they have a schema of their own, otherwise the message. */
export async function readMessage(
  method: string,
  params: unknown,
  schema: MethodSchema,
  own: ParamsSchemas | undefined,
): Promise<unknown> {
  if (own !== undefined) {
    const { _meta, ...given } = params as Record<string, unknown>;
    return parse(method, own.params, given);
  }
  const message = { method, params };
  return isSchema(schema) ? parse(method, schema, message) : message;
}

async function parse(method: string, schema: StandardSchema, value: unknown): Promise<unknown> {
  const parsed = await parseStandard(describeZod(schema), value);
  if (parsed.ok) return parsed.value;
  throw new RpcError(INVALID_PARAMS, `Invalid params for ${method}: ${describeIssues(parsed.issues)}`);
}
