import type { Params } from "../protocol/jsonrpc/message.js";
import { PARTIAL_CONTENT_KEY } from "../protocol/partial-content.js";
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
