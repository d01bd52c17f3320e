import type { GateAdmission, GateRefusal, HttpExchange } from "./exchange.js";

/** Decision of a gate on a request. */
export type GateVerdict = GateAdmission | GateRefusal;

/** Authorizes every request, after the checks of Host and Origin and before its body is read. */
export interface HttpGate {
  (exchange: HttpExchange): GateVerdict | Promise<GateVerdict>;
  /** Responds to requests for the gate's own documents, which are public. Returns false for every other request. */
  readonly route?: ((exchange: HttpExchange) => boolean) | undefined;
  /** Paths of those documents. */
  readonly paths?: readonly string[] | undefined;
  /** Problems of the gate's settings that do not prevent its use. */
  readonly warnings?: readonly string[] | undefined;
}
