import type { GateAdmission, GateRefusal, HttpExchange } from "./exchange.js";

export type GateVerdict = GateAdmission | GateRefusal;

/** Looks at every request before anything else does, but for the checks of Host and Origin. */
export interface HttpGate {
  (exchange: HttpExchange): GateVerdict | Promise<GateVerdict>;
  /** Answers what is addressed to documents of the gate's own, which anybody may read; false for everything else. */
  readonly route?: (exchange: HttpExchange) => boolean;
  /** Where those documents are. */
  readonly paths?: readonly string[];
  /** What is doubtful about its settings. */
  readonly warnings?: readonly string[];
}
