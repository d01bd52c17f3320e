import type { HeaderRecord } from "../../../http/client/client-headers.js";
import { encodeHeaderValue } from "../../../http/header-value.js";
import { type ParamHeader, paramHeadersOf } from "../../../http/param-headers.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import { metaOf, VERSION_KEY } from "../envelope.js";
import { modernMethods } from "../methods.js";

export interface HeaderSources {
  /** The version for a body that does not name one. */
  readonly version: string;
  /** The params member that names what an extension's method is about. */
  nameFrom?(method: string): string | undefined;
  paramHeaders(tool: string): readonly ParamHeader[] | undefined;
}

/** The headers that repeat a body for those who do not read bodies. Throws for an argument that no header can carry. */
export function requestHeaders(
  base: Readonly<HeaderRecord>,
  method: string,
  params: Params | undefined,
  sources: HeaderSources,
): HeaderRecord {
  const version = metaOf(params)?.[VERSION_KEY];
  // Not by spreading: before Node 22 an object that is spread and added to takes half a microsecond a time.
  const headers: HeaderRecord = Object.assign({}, base);
  headers["mcp-protocol-version"] = typeof version === "string" ? version : sources.version;
  headers["mcp-method"] = encodeHeaderValue(method);
  const from = modernMethods.get(method)?.nameFrom ?? sources.nameFrom?.(method);
  const name = from === undefined ? undefined : params?.[from];
  if (typeof name === "string") headers["mcp-name"] = encodeHeaderValue(name);
  if (method === "tools/call" && typeof name === "string") {
    for (const [header, value] of paramHeadersOf(sources.paramHeaders(name) ?? [], params?.arguments)) {
      headers[header.toLowerCase()] = value;
    }
  }
  return headers;
}
