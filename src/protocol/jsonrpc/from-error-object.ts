import type { RpcError } from "../errors.js";
import {
  type RequiredUrl,
  requiredUrlProblem,
  URL_ELICITATION_REQUIRED,
  UrlElicitationRequiredError,
} from "../url-elicitation-error.js";
import type { RpcErrorObject } from "./message.js";
import { toRpcError } from "./to-rpc-error.js";

/** The error as a class of its own where its code has one; a known code with data that makes no sense is a plain error. */
export function fromErrorObject(error: RpcErrorObject, method?: string): RpcError {
  if (error.code === URL_ELICITATION_REQUIRED) {
    const { elicitations } = (error.data ?? {}) as { elicitations?: readonly RequiredUrl[] };
    if (requiredUrlProblem(elicitations) === undefined) {
      return new UrlElicitationRequiredError(elicitations as readonly RequiredUrl[], error.message);
    }
  }
  return toRpcError(error, method);
}
