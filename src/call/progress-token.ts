import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import { isRequestId } from "../protocol/jsonrpc/parse-call.js";

/** The token under which a request asks for progress, if it does. */
export function progressTokenOf(params: Params | undefined): RequestId | undefined {
  const token = (params?._meta as { progressToken?: unknown } | undefined | null)?.progressToken;
  return isRequestId(token) ? token : undefined;
}

/** The params, asking for progress under this token: the one by which this side finds the call again. */
export function withProgressToken(params: Params | undefined, token: RequestId): Params {
  return { ...params, _meta: { ...(params?._meta as object | undefined), progressToken: token } };
}
