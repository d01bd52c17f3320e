import { RpcError } from "../schema/errors.js";
import type { UrlElicitationRequiredError } from "../schema/url-elicitation-error.js";

/** Whether a handler failed because the user must visit pages first. */
export function sendsAway(failure: unknown): failure is UrlElicitationRequiredError {
  return failure instanceof RpcError && "elicitations" in failure;
}
