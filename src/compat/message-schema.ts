import { RpcError } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";
import { describeIssues } from "../protocol/text.js";
import type { CompletionReference, LoggingLevel, Meta, PaginatedParams } from "../protocol/types/index.js";
import { isStandardSchema, type OutputOf, parseStandard, type StandardSchema } from "../schema/standard-schema.js";

/** A zod schema of a request or notification of the official SDK, or its method. */
export type MethodSchema = string | { readonly shape: { readonly method: unknown } };

/** Schemas of a method with its own params, as version 2 of the official SDK takes them. `result` is not run. */
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

/** The message that a handler receives for a schema or method. */
export type MessageOf<S> = S extends StandardSchema
  ? OutputOf<S>
  : S extends keyof ParamsOf
    ? { method: S; params: ParamsOf[S] & { _meta?: Meta } }
    : { method: string; params: Record<string, unknown> };

/** Returns the method that a schema of the official SDK stands for. */
export function methodOf(schema: MethodSchema): string {
  if (typeof schema === "string") return schema;
  const literal = schema.shape.method;
  const value = isObject(literal) ? literal.value : undefined;
  if (typeof value !== "string")
    throw new TypeError(
      'setRequestHandler and setNotificationHandler take a schema of the SDK, or a method such as "tools/list"',
    );
  return value;
}

/** Returns the argument of a handler: the message as its schema reads it, or the params if they have a schema of their own. */
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
  return isStandardSchema(schema) ? parse(method, schema, message) : message;
}

async function parse(method: string, schema: StandardSchema, value: unknown): Promise<unknown> {
  const parsed = await parseStandard(schema, value);
  if (parsed.ok) return parsed.value;
  throw new RpcError(INVALID_PARAMS, `Invalid params for ${method}: ${describeIssues(parsed.issues)}`);
}
