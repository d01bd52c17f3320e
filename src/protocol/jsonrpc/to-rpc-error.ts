import { RpcError, USER_REJECTED, UserRejectedError } from "../errors.js";
import type { RpcErrorObject } from "./message.js";

/** What a client answers with as an error; the word of its user has a class of its own. */
export function toRpcError({ code, message, data }: RpcErrorObject, method?: string): RpcError {
  return code === USER_REJECTED ? new UserRejectedError(message) : new RpcError(code, message, data, { method });
}
