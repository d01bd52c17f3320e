import { INVALID_PARAMS } from "../jsonrpc/error-codes.js";
import { RpcError } from "../schema/errors.js";

/** The caller's own name for it, bounded: it may be anything. */
export function unknownItem(noun: string, name: string): RpcError {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name;
  return new RpcError(INVALID_PARAMS, `Unknown ${noun}: ${shown} is not among the listed ${noun}s`);
}
