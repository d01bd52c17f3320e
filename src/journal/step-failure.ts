import { HandlerSuspended, RpcError, ToolError, UrlElicitationRequiredError } from "../protocol/errors.js";

/** Maximum number of characters of a message, and of each other part of a failure, that is kept. */
const MAX_CHARS = 4_000;

/** Failure of a step, as it is recorded. */
export interface StepFailure {
  /** Class of the error, as far as it is created again. Undefined for a thrown value that is no error. */
  readonly kind?: "tool" | "rpc" | "error" | undefined;
  readonly name?: string | undefined;
  readonly message?: string | undefined;
  /** Member `code` of the error, or `rpcCode` of an `RpcError`. */
  readonly code?: unknown;
  /** Member `data` of an `RpcError`, or the thrown value that is no error. */
  readonly data?: unknown;
  /** Parts of the step that belong to this attempt: steps with the number of their failures, and questions. */
  readonly parts?: { readonly [what: string]: number } | undefined;
}

/** True if a step has not failed, but waits for the user like a question. */
export function isWaiting(thrown: unknown): boolean {
  return thrown instanceof HandlerSuspended || thrown instanceof UrlElicitationRequiredError;
}

/** Returns the failure of a step as it is recorded, without parts that are too long. */
export function toFailure(thrown: unknown): StepFailure {
  if (!(thrown instanceof Error)) return { data: short(thrown) };
  const { name, message } = thrown;
  const kept = { name: String(name).slice(0, MAX_CHARS), message: String(message).slice(0, MAX_CHARS) };
  if (thrown instanceof ToolError) return { kind: "tool", ...kept };
  if (thrown instanceof RpcError) return { kind: "rpc", ...kept, code: thrown.rpcCode, data: short(thrown.data) };
  const { code } = thrown as { readonly code?: unknown };
  return { kind: "error", ...kept, code: short(code) };
}

/** Returns the value with which a step rejects whose failure is recorded. */
export function toThrown(failure: StepFailure): unknown {
  const { kind, name, data } = failure;
  if (kind === undefined) return data;
  const error = toError(failure);
  if (error.name !== name) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  return error;
}

function toError({ kind, message = "", code, data }: StepFailure): Error {
  if (kind === "tool") return new ToolError(message);
  if (kind === "rpc") return new RpcError(code as number, message, data);
  return Object.assign(new Error(message), code !== undefined && { code });
}

/** Returns a value as JSON keeps it, or undefined if it is long or no JSON. */
function short(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) ?? "null";
    return text.length <= MAX_CHARS && value !== undefined ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}
