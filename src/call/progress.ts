import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import { isRequestId } from "../protocol/jsonrpc/parse.js";
import { PARTIAL_CONTENT_KEY } from "../protocol/meta.js";
import type { ContentBlock, Progress } from "../protocol/types/index.js";

/** A report of progress, with what the tool has to show so far. */
export interface CallProgress extends Progress {
  readonly content?: readonly ContentBlock[];
}

/** Hands a report of progress to whoever asked for it. What goes wrong there is told, and harms nothing else. */
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
    ...(total === undefined ? undefined : { total }),
    ...(message === undefined ? undefined : { message }),
    ...(Array.isArray(content) ? { content } : undefined),
  };
}

/** The token under which a request asks for progress, if it does. */
export function progressTokenOf(params: Params | undefined): RequestId | undefined {
  const token = (params?._meta as { progressToken?: unknown } | undefined | null)?.progressToken;
  return isRequestId(token) ? token : undefined;
}

/** The params, asking for progress under this token: the one by which this side finds the call again. */
export function withProgressToken(params: Params | undefined, token: RequestId): Params {
  return { ...params, _meta: { ...(params?._meta as object | undefined), progressToken: token } };
}
