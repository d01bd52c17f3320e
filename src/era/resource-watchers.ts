import type { ServerRuntime } from "./server-era.js";

/** Somebody begins to watch a resource. */
export function retain(runtime: ServerRuntime, uri: string): void {
  const watching = runtime.watched.get(uri) ?? 0;
  runtime.watched.set(uri, watching + 1);
  if (watching === 0) tell(runtime, "onSubscribe", uri);
}

/** Somebody stops watching a resource. */
export function release(runtime: ServerRuntime, uri: string): void {
  const left = (runtime.watched.get(uri) ?? 0) - 1;
  if (left > 0) runtime.watched.set(uri, left);
  else if (runtime.watched.delete(uri)) tell(runtime, "onUnsubscribe", uri);
}

function tell(runtime: ServerRuntime, hook: "onSubscribe" | "onUnsubscribe", uri: string): void {
  try {
    runtime.options.resources?.[hook]?.(uri);
  } catch (error) {
    runtime.report(error, { where: hook });
  }
}
