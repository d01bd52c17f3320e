import { RpcError } from "../protocol/errors.js";
import { isObject, pointerTo } from "../protocol/json.js";
import { decodeHeaderValue, encodeHeaderValue } from "./header-value.js";
import type { ParamHeader } from "./param-header-schema.js";

export { findParamHeaders, type ParamHeader, type ParamHeaders } from "./param-header-schema.js";

/** A whole number in plain decimal notation: sign, digits without leading zeros, and at most zeros behind a point. */
const WHOLE = /^(-?)0*(0|[1-9]\d*)(?:\.0+)?$/;
const INVALID_PARAMS = -32602;

/** The headers to send with these arguments. Throws for a number that a header cannot carry faithfully. */
export function paramHeadersOf(headers: readonly ParamHeader[], args: unknown): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (const { name, path } of headers) {
    const value = valueAt(args, path);
    if (typeof value === "number" && !Number.isSafeInteger(value)) {
      const message = `the argument ${pointerOf(path)} is sent as the header ${name} and must be a safe integer`;
      throw new RpcError(INVALID_PARAMS, message, undefined, { local: true });
    }
    if (isPrimitive(value)) pairs.push([name, encodeHeaderValue(value)]);
  }
  return pairs;
}

/** What is wrong with the headers of a call, or undefined when they agree with its arguments. */
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
  // A header cannot carry a lone surrogate or the white space around a plain value, so both sides are normalised.
  return decoded === String(value) || decoded === decodeHeaderValue(encodeHeaderValue(value));
}

/** Compares digit by digit: beyond 2^53 two different numbers can be equal as floats. */
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
