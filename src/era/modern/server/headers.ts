// The legacy era has no such file: only this era mirrors parts of the body in headers.

import type { HttpExchange } from "../../../http/exchange.js";
import { decodeHeaderValue, trimHeader } from "../../../http/headers.js";
import { checkParamHeaders } from "../../../http/param-headers.js";
import { Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import { quoted } from "../../../protocol/text.js";
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
    (versionHeader === version ? undefined : plainHeaderRefusal("MCP-Protocol-Version", versionHeader, version)) ??
    (methodHeader === method ? undefined : plainHeaderRefusal("Mcp-Method", methodHeader, method)) ??
    (name === undefined || (nameHeader === name && PLAIN.test(name))
      ? undefined
      : nameHeaderRefusal(nameHeader, name)) ??
    (mirrored?.length
      ? mismatch(checkParamHeaders(mirrored, params.arguments, (header) => exchange.header(header.toLowerCase())))
      : undefined)
  );
}

/** Refuses a header that does not contain the value unencoded. Method and version have no encoded form. */
export function plainHeaderRefusal(name: string, header: string | undefined, value: string): Refusal | undefined {
  const trimmed = header && trimHeader(header);
  return trimmed === value ? undefined : differs(name, header, trimmed, value);
}

function nameHeaderRefusal(header: string | undefined, name: string): Refusal | undefined {
  const decoded = header && decodeHeaderValue(header);
  return decoded === name ? undefined : differs("Mcp-Name", header, decoded, name);
}

function differs(name: string, header: string | undefined, decoded: string | undefined, value: string) {
  const received = header === undefined ? "missing" : decoded === undefined ? "malformed" : quoted(decoded);
  return mismatch(`${name} header is ${received}, but the body has ${quoted(value)}`);
}

function mismatch(problem: string | undefined): Refusal | undefined {
  return problem === undefined ? undefined : new Refusal(HEADER_MISMATCH, `Header mismatch: ${problem}`);
}
