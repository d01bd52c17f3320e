import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import { isRequestId } from "../protocol/jsonrpc/parse.js";
import { PARTIAL_CONTENT_KEY } from "../protocol/meta.js";
import type { ContentBlock, Progress } from "../protocol/types/index.js";

/** Progress of a call, with content that the tool sends before its result. */
export interface CallProgress extends Progress {
  readonly content?: readonly ContentBlock[];
}

/** Passes a progress notification to the listener. Errors of the listener go to `onError` only. */
export function tellProgress(
  listener: (progress: CallProgress) => unknown,
  params: Params,
  onError: (error: unknown) => void,
): void {
  try {
    const told = listener(toProgress(params));
    if (told instanceof Promise) told.catch(onError);
  } catch (error) {
    onError(error);
  }
}

function toProgress(params: Params): CallProgress {
  const { progress, total, message } = params as { progress: number; total?: number; message?: string };
  const content = (params._meta as Params | undefined)?.[PARTIAL_CONTENT_KEY] as readonly ContentBlock[] | undefined;
  return {
    progress,
    ...(typeof total === "number" ? { total } : undefined),
    ...(typeof message === "string" ? { message } : undefined),
    ...(Array.isArray(content) ? { content } : undefined),
  };
}

/** Returns the progress token of a request, if it has one. */
export function progressTokenOf(params: Params | undefined): RequestId | undefined {
  const token = (params?._meta as { progressToken?: unknown } | undefined | null)?.progressToken;
  return isRequestId(token) ? token : undefined;
}

/** Adds a progress token to the params. Progress notifications name their request by this token. */
export function withProgressToken(params: Params | undefined, token: RequestId): Params {
  return { ...params, _meta: { ...(params?._meta as object | undefined), progressToken: token } };
}
