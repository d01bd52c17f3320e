import { RpcError } from "../protocol/errors.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";

const RESOURCE_NOT_FOUND = -32002;
/** Many servers say it in these words alone. */
const SAID = /\bResource \S+ not found$/;

/**
 * Whether a read failed because the server has no such resource: versions differ in the code for it. The same codes mean
 * something else, or nothing, as answers to other methods.
 */
export function isResourceNotFound(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.local || error.method !== "resources/read") return false;
  const { rpcCode, data, message } = error;
  // Bad params that are not about the resource name none.
  const namesUri = typeof data === "object" && data !== null && typeof (data as { uri?: unknown }).uri === "string";
  return rpcCode === RESOURCE_NOT_FOUND || (rpcCode === INVALID_PARAMS && (namesUri || SAID.test(message)));
}
