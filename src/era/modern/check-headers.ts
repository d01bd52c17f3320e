import type { HttpExchange } from "../../http/exchange.js";
import { decodeHeaderValue, trimHeader } from "../../http/header-value.js";
import { checkParamHeaders, type ParamHeader } from "../../http/param-headers.js";
import { Refusal } from "../../jsonrpc/error-codes.js";
import type { Params } from "../../jsonrpc/message.js";
import { HEADER_MISMATCH } from "./envelope.js";

const PLAIN = /^[\x21-\x7e]+$/;

/** The parts of a request that travel twice: in its body and, for whoever routes it, in headers. */
export interface Mirrored {
  readonly version: string;
  readonly method: string;
  readonly params: Params;
}

/**
 * Throws a refusal unless the headers say what the body says: whoever routed the request by its headers must have seen the
 * request that is served. A header that came twice reads as its values joined, which is no value of the body.
 */
export function assertRequestHeaders(exchange: HttpExchange, body: Mirrored, nameFrom: string | undefined): void {
  assertVersionHeader(exchange, body.version);
  const method = exchange.header("mcp-method");
  if (method === undefined) throw mismatch("Mcp-Method header is missing");
  if (!isPlainly(method, body.method)) throw mismatch("Mcp-Method header does not match the method in the body");
  if (nameFrom !== undefined) assertNameHeader(exchange, body.params[nameFrom], nameFrom);
}

export function assertVersionHeader(exchange: HttpExchange, version: string): void {
  const header = exchange.header("mcp-protocol-version");
  if (header === undefined) throw mismatch("MCP-Protocol-Version header is missing");
  if (!isPlainly(header, version)) throw mismatch("MCP-Protocol-Version header does not match the version in _meta");
}

/** A method header that is there must be true, also where none is needed. */
export function assertMethodHeaderIfAny(exchange: HttpExchange, method: string): void {
  const header = exchange.header("mcp-method");
  if (header !== undefined && !isPlainly(header, method)) {
    throw mismatch("Mcp-Method header does not match the method in the body");
  }
}

/** Throws a refusal unless each argument that is mirrored has its header, and no other argument has. */
export function assertParamHeaders(exchange: HttpExchange, headers: readonly ParamHeader[], args: unknown): void {
  const problem = checkParamHeaders(headers, args, (name) => exchange.header(name.toLowerCase()));
  if (problem !== undefined) throw mismatch(problem);
}

/** A body without a name is at fault itself: its params are refused later. */
function assertNameHeader(exchange: HttpExchange, name: unknown, member: string): void {
  if (typeof name !== "string") return;
  const header = exchange.header("mcp-name");
  if (header === undefined) throw mismatch("Mcp-Name header is missing");
  // Most names are plain and equal; only the base64 form begins with "=".
  if (header === name && PLAIN.test(header) && !header.startsWith("=")) return;
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
