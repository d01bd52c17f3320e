import { isObject } from "../../../protocol/json.js";
import { type JsonText, writeResult } from "../../../protocol/jsonrpc/format.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { Progress, ProgressToken } from "../../../protocol/types/index.js";
import { DRAFT_4, dialectOf } from "../../../schema/json-schema/dialect.js";
import { eachSubschema } from "../../../schema/json-schema/document.js";
import { type Call, type HandlerResult, PreparedResult, type Result, type ServerRuntime } from "../../server-era.js";

/** The first versions to know each thing. */
const STRUCTURED_SINCE = "2025-06-18";
const ICONS_SINCE = "2025-11-25";
const EXECUTION_SINCE = "2025-11-25";

/** The members of results that hold listings. */
const LISTS: { readonly [method: string]: string } = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
};

/** Leaves out what the client's version has no word for, and wraps outputs that are no objects. */
export function encodeResult(call: Call, result: HandlerResult, runtime: ServerRuntime): JsonText {
  const { version } = call.client;
  if (result instanceof PreparedResult) {
    return result.textFor(version, (plain) => JSON.stringify(toWire(call, plain, runtime)));
  }
  return isPlain(call.method, result)
    ? (writeResult(result) as JsonText)
    : JSON.stringify(toWire(call, result, runtime));
}

/** Whether every version has a word for all of it, so that nothing need be copied: most results of tools are such. */
function isPlain(method: string, { resultType, ttlMs, cacheScope, structuredContent }: Result): boolean {
  return method === "tools/call" && (resultType ?? ttlMs ?? cacheScope ?? structuredContent) === undefined;
}

function toWire(call: Call, result: Result, runtime: ServerRuntime): Result {
  const { method, client } = call;
  if (result.resultType === "input_required") {
    throw new Error(
      `${method}: input_required does not exist in this protocol version; ask with ctx.elicit and the like`,
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

/** The first version whose progress has words. */
const MESSAGE_VERSION = "2025-03-26";

export function encodeProgress(call: Call, progressToken: ProgressToken, progress: Progress): Params {
  if (call.client.version >= MESSAGE_VERSION) return { progressToken, ...progress };
  const { message: _, ...known } = progress;
  return { progressToken, ...known };
}

type Schema = { readonly [key: string]: unknown };

/** Where a wrapped schema lies in its envelope. */
const PLACE = "#/properties/result";
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

const envelopes = new WeakMap<Schema, Schema>();

/** Whether this era takes an output schema, and the values that fit it, only inside an envelope: anything but an object. */
export function isWrapped(outputSchema: Schema): boolean {
  return outputSchema.type !== "object";
}

/** The schema of an object whose one property `result` has the given schema. Made once for each. */
export function wrapSchema(schema: Schema): Schema {
  let envelope = envelopes.get(schema);
  if (envelope === undefined) {
    // Written and read, not cloned: parts that the author used twice become two, and each is redirected once.
    const { $schema, ...result } = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
    redirect(result, dialectOf(schema) === DRAFT_4 ? "id" : "$id");
    const dialect = $schema === undefined ? undefined : { $schema };
    envelope = { ...dialect, type: "object", properties: { result }, required: ["result"] };
    envelopes.set(schema, envelope);
  }
  return envelope;
}

/** Makes references from the document's root start at the place it has moved to. What has an id is a root of its own. */
function redirect(schema: Record<string, unknown>, idKeyword: string): void {
  const id = schema[idKeyword];
  if (typeof id === "string" && !id.startsWith("#")) return;
  for (const keyword of REFERENCES) {
    const reference = schema[keyword];
    if (reference === "#" || (typeof reference === "string" && reference.startsWith("#/"))) {
      // A recursive reference leads to the root only.
      const moved = keyword === "$recursiveRef" ? "$ref" : keyword;
      delete schema[keyword];
      schema[moved] ??= PLACE + reference.slice(1);
    }
  }
  eachSubschema(schema, (part) => redirect(part, idKeyword));
}

/** A value as structured content of this era. Its schema decides; without one, only an object goes as it is. */
export function wrapValue(value: unknown, outputSchema: Schema | undefined): unknown {
  const written = toWritten(value);
  const fits = isObject(written) && (outputSchema === undefined || !isWrapped(outputSchema));
  return fits || written === undefined ? written : { result: written };
}

/** A value as JSON writes it, where that may be of another kind. */
function toWritten(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const isBoxed = value instanceof String || value instanceof Number || value instanceof Boolean;
  if (!isBoxed && typeof (value as { toJSON?: unknown }).toJSON !== "function") return value;
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}
