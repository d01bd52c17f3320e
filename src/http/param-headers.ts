import { RpcError } from "../protocol/errors.js";
import { isObject, pointerTo } from "../protocol/json.js";
import { eachSubschema } from "../schema/json-schema/document.js";
import { decodeHeaderValue, encodeHeaderValue } from "./headers.js";

const KEYWORD = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES = ["string", "integer", "boolean"] as const;
/**
 * Limits far above those of a usable schema: a tool without header annotations must not be lost because of its size.
 */
const MAX_DEPTH = 512;
const MAX_SUBSCHEMAS = 100_000;

/** Argument that is copied into a header. */
export interface ParamHeader {
  /** Complete header name, including `Mcp-Param-`. */
  readonly name: string;
  /** Property names that lead to the argument. */
  readonly path: readonly string[];
  readonly type: (typeof TYPES)[number];
}

/** Headers of a tool, or the reason why its annotations are invalid. */
export type ParamHeaders =
  | { readonly ok: true; readonly headers: readonly ParamHeader[] }
  | { readonly ok: false; readonly reason: string };

/**
 * Returns the headers that a tool's input schema requests, or the reason why its annotations make the tool unusable.
 */
export function findParamHeaders(inputSchema: unknown): ParamHeaders {
  const headers: ParamHeader[] = [];
  const names = new Set<string>();
  let count = 0;

  const visit = (
    schema: Record<string, unknown>,
    path: readonly string[] | undefined,
    at: string,
    depth: number,
  ): string | undefined => {
    count += 1;
    if (depth > MAX_DEPTH || count > MAX_SUBSCHEMAS) return "the schema is too large to search for header annotations";
    if (Object.hasOwn(schema, KEYWORD)) {
      const header = readHeader(schema, path);
      if (typeof header === "string") return `${at}: ${header}`;
      const name = header.name.toLowerCase();
      if (names.has(name)) return `${at}: ${header.name} is used twice`;
      names.add(name);
      headers.push(header);
    }
    let problem: string | undefined;
    eachSubschema(schema, (child, pointer, keyword, key) => {
      const below = keyword === "properties" && path !== undefined ? [...path, String(key)] : undefined;
      problem ??= visit(child, below, at + pointer, depth + 1);
    });
    return problem;
  };

  const reason = isObject(inputSchema) ? visit(inputSchema, [], "#", 0) : undefined;
  return reason === undefined ? { ok: true, headers } : { ok: false, reason };
}

function readHeader(schema: Record<string, unknown>, path: readonly string[] | undefined): ParamHeader | string {
  const name = schema[KEYWORD];
  if (path === undefined || path.length === 0) {
    return `${KEYWORD} is allowed only on properties reached through "properties" alone`;
  }
  if (typeof name !== "string" || !TOKEN.test(name)) return `${KEYWORD} must be a non-empty HTTP token`;
  const type = TYPES.find((known) => known === schema.type);
  if (type === undefined) return `${KEYWORD} is allowed only on a property of type ${TYPES.join(", ")}`;
  return { name: `Mcp-Param-${name}`, path, type };
}

/** Integer in plain decimal notation: sign, digits, and optionally a point followed by zeros. */
const WHOLE = /^(-?)0*(0|[1-9]\d*)(?:\.0+)?$/;
const INVALID_PARAMS = -32602;

/** Returns the headers to send with these arguments. Throws for a number that a header cannot represent exactly. */
export function paramHeadersOf(headers: readonly ParamHeader[], args: unknown): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (const { name, path } of headers) {
    const value = valueAt(args, path);
    if (typeof value === "number" && !Number.isSafeInteger(value)) {
      const message = `the argument ${pointerOf(path)} is sent as the header ${name} and must be a safe integer, got ${value}`;
      throw new RpcError(INVALID_PARAMS, message, undefined, { local: true });
    }
    if (isPrimitive(value)) pairs.push([name, encodeHeaderValue(value)]);
  }
  return pairs;
}

/** Returns the problem with the headers of a call, or undefined if they match its arguments. */
export function checkParamHeaders(
  headers: readonly ParamHeader[],
  args: unknown,
  header: (name: string) => string | undefined,
): string | undefined {
  for (const { name, path } of headers) {
    const problem = compare(header(name), valueAt(args, path));
    if (problem !== undefined) return `${name} ${problem} the argument ${pointerOf(path)}`;
  }
  return undefined;
}

function compare(text: string | undefined, value: unknown): string | undefined {
  if (!isPrimitive(value)) return text === undefined ? undefined : "is set without a value for";
  if (text === undefined) return "is missing for";
  const decoded = decodeHeaderValue(text);
  if (decoded === undefined) return "is malformed for";
  return isSame(decoded, value) ? undefined : "does not match";
}

function isSame(decoded: string, value: string | number | boolean): boolean {
  if (typeof value === "number") return isSameNumber(decoded, value);
  // A header cannot carry a lone surrogate or white space around a plain value, so both sides are normalized.
  return decoded === String(value) || decoded === decodeHeaderValue(encodeHeaderValue(value));
}

/** Compares digits, since beyond 2^53 two different numbers can be equal as floats. */
function isSameNumber(decoded: string, value: number): boolean {
  const [, sign = "", digits] = WHOLE.exec(decoded) ?? [];
  if (digits === undefined || !Number.isInteger(value)) return false;
  return (digits === "0" ? digits : sign + digits) === BigInt(value).toString();
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

function pointerOf(path: readonly string[]): string {
  return path.map(pointerTo).join("");
}
