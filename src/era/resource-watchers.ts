import type { ServerHost } from "./server-era.js";

/** Somebody begins to watch a resource. */
export function retain(host: ServerHost, uri: string): void {
  const watching = host.watched.get(uri) ?? 0;
  host.watched.set(uri, watching + 1);
  if (watching === 0) tell(host, "onSubscribe", uri);
}

/** Somebody stops watching a resource. */
export function release(host: ServerHost, uri: string): void {
  const left = (host.watched.get(uri) ?? 0) - 1;
  if (left > 0) host.watched.set(uri, left);
  else if (host.watched.delete(uri)) tell(host, "onUnsubscribe", uri);
}

function tell(host: ServerHost, hook: "onSubscribe" | "onUnsubscribe", uri: string): void {
  try {
    host.options.resources?.[hook]?.(uri);
  } catch (error) {
    host.report(error, { where: hook });
  }
}
