import { atCaller } from "../protocol/at-caller.js";
import { DefinitionError } from "../protocol/errors.js";
import type { InputRequests, InputRequiredResult } from "../protocol/types/index.js";

/**
 * Creates a result that requests input from the client, for handlers that handle rounds themselves. The responses
 * arrive in `ctx.inputResponses`. The state is sealed before it is sent, and arrives in `ctx.requestState`. The call fails if
 * an input request is invalid, such as a form with nested objects.
 */
export function inputRequired(parts: {
  readonly inputRequests?: InputRequests | undefined;
  readonly state?: unknown;
}): InputRequiredResult {
  if (Object.keys(parts.inputRequests ?? {}).length === 0 && parts.state === undefined) {
    atCaller(inputRequired, () => {
      throw new DefinitionError("inputRequired requires inputRequests or state");
    });
  }
  return {
    resultType: "input_required",
    ...(parts.inputRequests === undefined ? undefined : { inputRequests: parts.inputRequests }),
    ...(parts.state === undefined ? undefined : { requestState: parts.state as string }),
  };
}
