// The legacy era has no such file: only this era mirrors parts of the body in headers.

import type { HttpExchange } from "../../../http/exchange.js";
import { decodeHeaderValue, trimHeader } from "../../../http/header-value.js";
import { checkParamHeaders } from "../../../http/param-headers.js";
import { Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { ServerEra, ServerRuntime } from "../../server-era.js";
import { HEADER_MISMATCH } from "../envelope.js";

/** Name that is sent unencoded. Only the base64 form begins with "=". */
const PLAIN = /^[\x21-\x3c\x3e-\x7e][\x21-\x7e]*$/;

/**
 * Refuses a request whose headers differ from its body. An intermediary that routes by headers must have seen the
 * request that is served. A repeated header is read as its joined values, which match no value in the body.
 */
export function headerRefusal(
  exchange: HttpExchange,
  { era, runtime }: { readonly era: ServerEra; readonly runtime: ServerRuntime },
  method: string,
  params: Params,
  version: string,
): Refusal | undefined {
  const nameFrom = era.methods.get(method)?.nameFrom ?? runtime.nameFrom?.(method);
  const named = nameFrom === undefined ? undefined : params[nameFrom];
  // A name that is not a string is an error of the body, which is refused later.
  const name = typeof named === "string" ? named : undefined;
  const mirrors = runtime.mirrorsArguments && method === "tools/call" && name !== undefined;
  const mirrored = mirrors ? runtime.paramHeaders(name) : undefined;
  const versionHeader = exchange.header("mcp-protocol-version");
  const methodHeader = exchange.header("mcp-method");
  const nameHeader = name === undefined ? undefined : exchange.header("mcp-name");
  return (
    (versionHeader === version ? undefined : versionHeaderRefusal(versionHeader, version)) ??
    (methodHeader === method ? undefined : methodHeaderRefusal(methodHeader, method)) ??
    (name === undefined || (nameHeader === name && PLAIN.test(name))
      ? undefined
      : nameHeaderRefusal(nameHeader, name, nameFrom)) ??
    (mirrored === undefined || mirrored.length === 0
      ? undefined
      : mismatch(checkParamHeaders(mirrored, params.arguments, (header) => exchange.header(header.toLowerCase()))))
  );
}

export function versionHeaderRefusal(header: string | undefined, version: string): Refusal | undefined {
  if (header === undefined) return mismatch("MCP-Protocol-Version header is missing");
  return isPlainly(header, version)
    ? undefined
    : mismatch("MCP-Protocol-Version header does not match the version in _meta");
}

export function methodHeaderRefusal(header: string | undefined, method: string): Refusal | undefined {
  if (header === undefined) return mismatch("Mcp-Method header is missing");
  return isPlainly(header, method) ? undefined : mismatch("Mcp-Method header does not match the method in the body");
}

function nameHeaderRefusal(header: string | undefined, name: string, member: string | undefined): Refusal | undefined {
  if (header === undefined) return mismatch("Mcp-Name header is missing");
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return mismatch("Mcp-Name header is malformed");
  return decoded === name ? undefined : mismatch(`Mcp-Name header does not match params.${member} in the body`);
}

/** True if the header contains the value unencoded. Method and version have no encoded form. */
function isPlainly(header: string, value: string): boolean {
  return header === value || trimHeader(header) === value;
}

function mismatch(problem: string | undefined): Refusal | undefined {
  return problem === undefined ? undefined : new Refusal(HEADER_MISMATCH, `Header mismatch: ${problem}`);
}
