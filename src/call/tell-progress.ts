import type { Params } from "../jsonrpc/message.js";
import type { Progress } from "../schema/types.js";

/** Hands a report of progress to whoever asked for it. What goes wrong there is told, and harms nothing else. */
export function tellProgress(
  listener: (progress: Progress) => unknown,
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

function toProgress(params: Params): Progress {
  const { progress, total, message } = params as { progress: number; total?: number; message?: string };
  return {
    progress,
    ...(total === undefined ? undefined : { total }),
    ...(message === undefined ? undefined : { message }),
  };
}
