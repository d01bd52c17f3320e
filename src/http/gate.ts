import { assertReturned, type Known } from "../protocol/known-options.js";
import type { GateAdmission, GateRefusal, HttpExchange } from "./exchange.js";

/** Decision of a gate on a request. */
export type GateVerdict = GateAdmission | GateRefusal;

/**
 * Authorizes every request, after the checks of Host and Origin and before its body is read. The verdict must be a plain
 * object with exactly these members. Any other one is answered with 500, since a refusal with a misspelt status would admit.
 */
export interface HttpGate {
  (exchange: HttpExchange): GateVerdict | Promise<GateVerdict>;
  /** Responds to requests for the gate's own documents, which are public. Returns false for every other request. */
  readonly route?: ((exchange: HttpExchange) => boolean) | undefined;
  /** Paths of those documents. */
  readonly paths?: readonly string[] | undefined;
  /** Problems of the gate's settings that do not prevent its use. */
  readonly warnings?: readonly string[] | undefined;
}

const ADMISSION: Known<GateAdmission> = {
  auth: "any",
  principal: "string",
  lifeMs: "ms",
  headers: "object",
  judge: "function",
};

const REFUSAL: Known<GateRefusal> = {
  status: [{ number: "positive" }, "required"],
  headers: "object",
  body: "string",
  error: "any",
  reason: "string",
  amend: "function",
};

/** Names that authors of a gate write from habit. */
const OTHER_NAMES = { statusCode: "status", code: "status" };

/** Throws if a verdict is no admission. A refusal with a misspelt status would admit the caller. */
export function assertAdmission(verdict: unknown): void {
  assertReturned("McpServer", "http.gate()", verdict, ADMISSION, OTHER_NAMES);
}

/** Throws if what a function of the gate returned at `path` is no refusal. */
export function assertRefusal(path: string, verdict: unknown): void {
  assertReturned("McpServer", path, verdict, REFUSAL, OTHER_NAMES);
}
