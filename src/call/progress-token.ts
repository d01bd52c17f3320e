import type { Params, RequestId } from "../jsonrpc/message.js";
import { isRequestId } from "../jsonrpc/parse.js";

/** The token under which a request asks for progress, if it does. */
export function progressTokenOf(params: Params | undefined): RequestId | undefined {
  const token = (params?._meta as { progressToken?: unknown } | undefined | null)?.progressToken;
  return isRequestId(token) ? token : undefined;
}

/** The params, asking for progress under this token unless they ask already. */
export function withProgressToken(params: Params | undefined, token: RequestId): Params {
  if (progressTokenOf(params) !== undefined) return params as Params;
  return { ...params, _meta: { ...(params?._meta as object | undefined), progressToken: token } };
}
