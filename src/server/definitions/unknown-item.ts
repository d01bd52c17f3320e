import { RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS } from "../../protocol/jsonrpc/errors.js";

/** The caller's own name for it, bounded: it may be anything. */
export function unknownItem(noun: string, name: string): RpcError {
  const shown = name.length > 128 ? `${name.slice(0, 128)}...` : name;
  return new RpcError(INVALID_PARAMS, `Unknown ${noun}: ${shown} is not among the listed ${noun}s`);
}
