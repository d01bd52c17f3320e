import type { HttpExchange } from "../../../http/exchange.js";
import { decodeHeaderValue, trimHeader } from "../../../http/header-value.js";
import type { ParamHeader } from "../../../http/param-header-schema.js";
import { checkParamHeaders } from "../../../http/param-headers.js";
import { Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import { HEADER_MISMATCH } from "../envelope.js";
import type { Serving } from "./decode.js";

/** The parts of a request that travel twice: in its body and, for whoever routes it, in headers. */
export interface MirroredFields {
  readonly version: string;
  readonly method: string;
  readonly params: Params;
  /** The member of the params that says what the request is about, where the method has such a thing. */
  readonly nameFrom: string | undefined;
  /** Its value; undefined also where it is no text: then the body is at fault itself, and is refused later. */
  readonly name: string | undefined;
  /** The arguments that are mirrored, where there are any. */
  readonly headers: readonly ParamHeader[] | undefined;
}

export function mirroredFieldsOf(
  { era, runtime }: Serving,
  method: string,
  params: Params,
  version: string,
): MirroredFields {
  const nameFrom = era.methods.get(method)?.nameFrom ?? runtime.nameFrom?.(method);
  const named = nameFrom === undefined ? undefined : params[nameFrom];
  const name = typeof named === "string" ? named : undefined;
  const headers = method === "tools/call" && name !== undefined ? runtime.paramHeaders(name) : undefined;
  return { version, method, params, nameFrom, name, headers };
}

/** A name that is its own header; only the base64 form begins with "=". */
const PLAIN = /^[\x21-\x3c\x3e-\x7e][\x21-\x7e]*$/;

/** Whether all headers say at a glance what the body says, as they mostly do. Otherwise they are to be looked at closely. */
export function headersMatchBody(
  exchange: HttpExchange,
  { version, method, name, headers = [] }: MirroredFields,
): boolean {
  return (
    exchange.header("mcp-protocol-version") === version &&
    exchange.header("mcp-method") === method &&
    (name === undefined || (exchange.header("mcp-name") === name && PLAIN.test(name))) &&
    headers.length === 0
  );
}

/**
 * Throws a refusal unless the headers say what the body says: whoever routed the request by its headers must have seen the
 * request that is served. A header that came twice reads as its values joined, which is no value of the body.
 */
export function assertHeadersMatchBody(exchange: HttpExchange, body: MirroredFields): void {
  const { version, method, name, nameFrom, headers = [], params } = body;
  assertVersionHeader(exchange, version);
  const header = exchange.header("mcp-method");
  if (header === undefined) throw mismatch("Mcp-Method header is missing");
  assertMethodHeader(header, method);
  if (name !== undefined) assertNameHeader(exchange, name, nameFrom);
  assertParamHeaders(exchange, headers, params.arguments);
}

export function assertVersionHeader(exchange: HttpExchange, version: string): void {
  const header = exchange.header("mcp-protocol-version");
  if (header === undefined) throw mismatch("MCP-Protocol-Version header is missing");
  if (!isPlainly(header, version)) throw mismatch("MCP-Protocol-Version header does not match the version in _meta");
}

export function assertMethodHeader(header: string, method: string): void {
  if (!isPlainly(header, method)) throw mismatch("Mcp-Method header does not match the method in the body");
}

/** Each argument that is mirrored must have its header, and no other argument. */
function assertParamHeaders(exchange: HttpExchange, headers: readonly ParamHeader[], args: unknown): void {
  const problem = checkParamHeaders(headers, args, (name) => exchange.header(name.toLowerCase()));
  if (problem !== undefined) throw mismatch(problem);
}

function assertNameHeader(exchange: HttpExchange, name: string, member: string | undefined): void {
  const header = exchange.header("mcp-name");
  if (header === undefined) throw mismatch("Mcp-Name header is missing");
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) throw mismatch("Mcp-Name header is malformed");
  if (decoded !== name) throw mismatch(`Mcp-Name header does not match params.${member} in the body`);
}

/** Method and version have no encoded form. */
function isPlainly(header: string, value: string): boolean {
  return header === value || trimHeader(header) === value;
}

function mismatch(problem: string): Refusal {
  return new Refusal(HEADER_MISMATCH, `Header mismatch: ${problem}`);
}
