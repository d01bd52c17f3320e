import { RpcError } from "../protocol/errors.js";
import type { UrlElicitationRequiredError } from "../protocol/url-elicitation-error.js";

/** Whether a handler failed because the user must visit pages first. */
export function sendsAway(failure: unknown): failure is UrlElicitationRequiredError {
  return failure instanceof RpcError && "elicitations" in failure;
}
