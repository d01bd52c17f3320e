import type { HttpExchange } from "../../../http/exchange.js";
import type { ParamHeader } from "../../../http/param-header-schema.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { Serving } from "./decode.js";

/** The parts of a request that travel twice: in its body and, for whoever routes it, in headers. */
export interface Mirrored {
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

export function toMirrored({ era, host }: Serving, method: string, params: Params, version: string): Mirrored {
  const nameFrom = era.methods.get(method)?.nameFrom ?? host.nameFrom?.(method);
  const named = nameFrom === undefined ? undefined : params[nameFrom];
  const name = typeof named === "string" ? named : undefined;
  const headers = method === "tools/call" && name !== undefined ? host.paramHeaders(name) : undefined;
  return { version, method, params, nameFrom, name, headers };
}

/** A name that is its own header; only the base64 form begins with "=". */
const PLAIN = /^[\x21-\x3c\x3e-\x7e][\x21-\x7e]*$/;

/** Whether all headers say at a glance what the body says, as they mostly do. Otherwise they are to be looked at closely. */
export function arePlainlyMirrored(exchange: HttpExchange, { version, method, name, headers = [] }: Mirrored): boolean {
  return (
    exchange.header("mcp-protocol-version") === version &&
    exchange.header("mcp-method") === method &&
    (name === undefined || (exchange.header("mcp-name") === name && PLAIN.test(name))) &&
    headers.length === 0
  );
}
