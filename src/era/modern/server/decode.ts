import type { Params, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { ServedCall } from "../../served-call.js";
import type { Call, CallOrigin, EraSession, ServerEra, ServerRuntime, ServerWire } from "../../server-era.js";
import { type Envelope, unsupportedVersion } from "../envelope.js";

/** Who serves calls. */
export interface Serving {
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly session?: EraSession;
}

/** The call that a request with this envelope is. */
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
    // A server that does not advertise log messages sends none, whoever asks.
    logLevel: () => (logLevel === undefined || runtime.capabilities.logging === undefined ? undefined : logLevel),
  });
}

/** Throws the refusal that lists what is spoken here. */
export function assertServed({ era, runtime: { versions } }: Serving, version: string): void {
  if (!era.versions.includes(version) || !versions.includes(version)) throw unsupportedVersion(version, versions);
}
