// The legacy era has no such file: a legacy session decodes its requests itself, since it supplies their metadata.

import type { HttpExchange } from "../../../http/exchange.js";
import { Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Params, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { longIdRefusal, ServedCall } from "../../served-call.js";
import type { Call, CallOrigin, EraSession, ServerEra, ServerRuntime, ServerWire } from "../../server-era.js";
import { type Envelope, hasEnvelope, readEnvelope, unsupportedVersion } from "../envelope.js";
import { headerRefusal, plainHeaderRefusal } from "./headers.js";

/** Server for which calls are decoded. `session` is set if they arrive on a channel. */
export interface Serving {
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly session?: EraSession;
}

/** Decodes a request of a channel to a call or to a refusal. */
export function decode(serving: Serving, request: RpcRequest, wire: ServerWire, origin: CallOrigin): Call | Refusal {
  const envelope = openEnvelope(serving, request);
  return envelope instanceof Refusal ? envelope : toCall(serving, request, envelope, wire, origin);
}

/**
 * Returns the envelope of a request that may become a call, or a refusal. Checks metadata first, then the headers of an
 * HTTP request, the version, and the length of the id. The refusal names the first fault.
 */
export function openEnvelope(serving: Serving, request: RpcRequest, exchange?: HttpExchange): Envelope | Refusal {
  const { method, params = {} } = request;
  if (method === "initialize" && !hasEnvelope(params)) return handshakeRefusal(serving, params, exchange);
  const envelope = readEnvelope(params);
  if (envelope instanceof Refusal) return envelope;
  const mismatch = exchange && headerRefusal(exchange, serving, method, params, envelope.version);
  return (
    mismatch ??
    versionRefusal(serving, envelope.version) ??
    longIdRefusal(request, envelope.progressToken, serving.runtime.limits) ??
    envelope
  );
}

/** Refuses a version that this server does not support. The refusal lists the supported versions. */
export function versionRefusal({ era, runtime: { versions } }: Serving, version: string): Refusal | undefined {
  const isServed = era.versions.includes(version) && versions.includes(version);
  return isServed ? undefined : unsupportedVersion(version, versions);
}

/**
 * Refuses a handshake, which belongs to older versions. The refusal names the versions that the server supports, unless
 * the version header is of this era and does not match the body.
 */
function handshakeRefusal({ era, runtime }: Serving, params: Params, exchange: HttpExchange | undefined): Refusal {
  const requested = typeof params.protocolVersion === "string" ? params.protocolVersion : undefined;
  const header = exchange?.header("mcp-protocol-version");
  const isOfThisEra = header !== undefined && era.versions.includes(header);
  const mismatch = isOfThisEra ? plainHeaderRefusal("MCP-Protocol-Version", header, requested ?? "") : undefined;
  return mismatch ?? unsupportedVersion(requested, runtime.versions);
}

/** Creates the call of a request. `wire` sends its messages. */
export function toCall(
  { era, runtime, session }: Serving,
  { id, method, params }: RpcRequest,
  envelope: Envelope,
  wire: ServerWire,
  origin: CallOrigin,
): Call {
  const { logLevel, progressToken } = envelope;
  return new ServedCall({
    era,
    session,
    id,
    method,
    params: params as Params,
    client: envelope,
    wire,
    origin,
    progressToken,
    // A server without the logging capability sends no log messages, even if the client requests them.
    logLevel: () => (logLevel === undefined || runtime.capabilities.logging === undefined ? undefined : logLevel),
  });
}
