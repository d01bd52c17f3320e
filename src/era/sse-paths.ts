import type { SsePaths } from "./server-era.js";

/** The two paths of the transport with a stream of its own; `messages` may have a query. */
export interface ResolvedSsePaths {
  readonly stream: string;
  readonly messages: string;
}

export function resolveSsePaths(option: true | SsePaths): ResolvedSsePaths {
  const { path = "/sse", messagesPath = "/messages" } = option === true ? {} : option;
  return { stream: path, messages: messagesPath.split("#", 1)[0] as string };
}

/** The path of a URL's path and query. */
export function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] as string;
}

/** Whether one of the two is asked for, whatever stands before it. */
export function isSsePath(url: string, { stream, messages }: ResolvedSsePaths): boolean {
  const path = pathOf(url);
  return path.endsWith(stream) || path.endsWith(pathOf(messages));
}
