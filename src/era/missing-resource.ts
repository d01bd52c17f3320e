import { RpcError } from "../protocol/errors.js";
import { oneLine } from "../protocol/text.js";

/**
 * Creates the error of a missing resource. Its code is that of older protocol versions. An era with another code
 * replaces it.
 */
export function resourceNotFound(uri: string): RpcError {
  return new RpcError(-32002, "Resource not found", { uri: oneLine(uri, 2_000) });
}
