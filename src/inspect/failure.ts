import { isObject } from "../protocol/json.js";
import type { Failure } from "./protocol.js";

/** Codes of mistakes of the page, which are no errors of the SDK. */
export type VerbProblem =
  | "invalid_verb"
  | "unknown_connection"
  | "unknown_run"
  | "unknown_question"
  | "not_available"
  | "too_many"
  | "cancelled";

/** Verb that is not done. */
export class VerbError extends Error {
  override readonly name = "VerbError";
  constructor(
    readonly code: VerbProblem,
    message: string,
  ) {
    super(message);
  }
}

/** Members of errors that a page shows. */
const TOLD = ["rpcCode", "data", "status", "delivery", "retrySafe"] as const;

/** Returns what the page is told of an error. */
export function toFailure(error: unknown): Failure {
  const members = (isObject(error) ? error : {}) as Readonly<Record<string, unknown>>;
  const { code } = members;
  const told = TOLD.filter((name) => members[name] !== undefined);
  return {
    code: typeof code === "string" ? code : "error",
    message: error instanceof Error ? error.message : String(error),
    ...Object.fromEntries(told.map((name) => [name, members[name]])),
  };
}
