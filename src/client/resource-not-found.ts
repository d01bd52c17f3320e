import { RpcError } from "../schema/errors.js";

/** Whether reading a resource failed because there is none at its URI, whichever code the server's version has for it. */
export function isResourceNotFound(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  if (error.rpcCode === -32002) return true;
  const { data } = error;
  return error.rpcCode === -32602 && typeof data === "object" && data !== null && "uri" in data;
}
