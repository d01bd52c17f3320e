import { isObject } from "../../../protocol/json.js";
import { type JsonText, writeResult } from "../../../protocol/jsonrpc/format.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { Progress, ProgressToken } from "../../../protocol/types/index.js";
import { relocateSchema } from "../../../schema/json-schema/relocate.js";
import { type Call, type HandlerResult, PreparedResult, type Result, type ServerRuntime } from "../../server-era.js";

/** First versions with structured content, icons and `execution`. */
const STRUCTURED_SINCE = "2025-06-18";
const ICONS_SINCE = "2025-11-25";
const EXECUTION_SINCE = "2025-11-25";

/** Result members that contain the lists, by method. */
const LISTS: { readonly [method: string]: string } = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/**
 * Serializes a result. Removes members that the client's version does not define. Wraps structured content, unless it
 * is an object and its output schema, if any, is of type object.
 */
export function encodeResult(call: Call, result: HandlerResult, runtime: ServerRuntime): JsonText {
  const { version } = call.client;
  if (result instanceof PreparedResult) {
    return result.textFor(version, (plain) => JSON.stringify(toWire(call, plain, runtime)));
  }
  return isPlain(call.method, result)
    ? (writeResult(result) as JsonText)
    : JSON.stringify(toWire(call, result, runtime));
}

/**
 * True for a tool result without a member that depends on the version. Most results are of this kind. They are
 * serialized without a copy.
 */
function isPlain(method: string, { resultType, ttlMs, cacheScope, structuredContent }: Result): boolean {
  return method === "tools/call" && (resultType ?? ttlMs ?? cacheScope ?? structuredContent) === undefined;
}

function toWire(call: Call, result: Result, runtime: ServerRuntime): Result {
  const { method, client } = call;
  if (result.resultType === "input_required") {
    throw new Error(
      `${method}: input_required does not exist in this protocol version; use ctx.elicit, ctx.sample or ctx.listRoots`,
    );
  }
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...wire } = result;
  if (method === "tools/call")
    return structuredAt(client.version, wire, () => runtime.outputSchema(call.params.name as string));
  const member = Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;
  if (member === undefined || !Array.isArray(wire[member])) return wire;
  return { ...wire, [member]: (wire[member] as Result[]).map((listing) => listingAt(client.version, listing)) };
}

function structuredAt(version: string, result: Result, schema: () => Result | undefined): Result {
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || version < STRUCTURED_SINCE) return rest;
  return { ...rest, structuredContent: wrapValue(structuredContent, schema()) };
}

function listingAt(version: string, listing: Result): Result {
  const { outputSchema, icons, execution, ...rest } = listing;
  const output = version < STRUCTURED_SINCE ? undefined : (outputSchema as Result | undefined);
  return {
    ...rest,
    ...(output !== undefined && { outputSchema: isWrapped(output) ? wrapSchema(output) : output }),
    ...(icons !== undefined && version >= ICONS_SINCE ? { icons } : undefined),
    ...(execution !== undefined && version >= EXECUTION_SINCE ? { execution } : undefined),
  };
}

/** First version with a message in progress notifications. */
const MESSAGE_VERSION = "2025-03-26";

export function encodeProgress(call: Call, progressToken: ProgressToken, progress: Progress): Params {
  if (call.client.version >= MESSAGE_VERSION) return { progressToken, ...progress };
  const { message: _, ...known } = progress;
  return { progressToken, ...known };
}

type Schema = { readonly [key: string]: unknown };

/** Location of a wrapped schema in its envelope. */
const PLACE = "#/properties/result";

const envelopes = new WeakMap<Schema, Schema>();

/**
 * True if this era accepts the output schema, and its values, only inside an envelope: the schema is not of type
 * object.
 */
export function isWrapped(outputSchema: Schema): boolean {
  return outputSchema.type !== "object";
}

/** Returns the schema of an object whose property `result` has the given schema. It is created once per schema. */
export function wrapSchema(schema: Schema): Schema {
  let envelope = envelopes.get(schema);
  if (envelope === undefined) {
    const { $schema, ...result } = relocateSchema(schema, PLACE);
    const dialect = $schema === undefined ? undefined : { $schema };
    envelope = { ...dialect, type: "object", properties: { result }, required: ["result"] };
    envelopes.set(schema, envelope);
  }
  return envelope;
}

/**
 * Returns a value as structured content of this era. The output schema decides if it is wrapped. Without a schema,
 * everything but an object is wrapped.
 */
export function wrapValue(value: unknown, outputSchema: Schema | undefined): unknown {
  const written = toWritten(value);
  const fits = isObject(written) && (outputSchema === undefined || !isWrapped(outputSchema));
  return fits || written === undefined ? written : { result: written };
}

/** Returns the value that JSON serialization yields, which may be of another type. */
function toWritten(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const isBoxed = value instanceof String || value instanceof Number || value instanceof Boolean;
  if (!isBoxed && typeof (value as { toJSON?: unknown }).toJSON !== "function") return value;
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}
