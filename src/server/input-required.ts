import { DefinitionError } from "../protocol/errors.js";
import type { InputRequests, InputRequiredResult } from "../protocol/types/index.js";

/**
 * A result that asks the client for input, for handlers that speak the wire themselves. The answers come back in
 * `ctx.inputResponses` and the state, sealed on the way, in `ctx.state`. A question that no client could answer, such as a form
 * that is not flat, fails the call when the handler has returned it.
 */
export function inputRequired(parts: {
  readonly inputRequests?: InputRequests;
  readonly state?: unknown;
}): InputRequiredResult {
  if (Object.keys(parts.inputRequests ?? {}).length === 0 && parts.state === undefined) {
    throw new DefinitionError("inputRequired needs inputRequests or state");
  }
  return {
    resultType: "input_required",
    ...(parts.inputRequests === undefined ? undefined : { inputRequests: parts.inputRequests }),
    ...(parts.state === undefined ? undefined : { requestState: parts.state as string }),
  };
}
