import type { SsePaths } from "./era.js";

/** The two paths of the transport with a stream of its own; `messages` may have a query. */
export function resolveSsePaths(option: true | SsePaths): { readonly stream: string; readonly messages: string } {
  const { path = "/sse", messagesPath = "/messages" } = option === true ? {} : option;
  return { stream: path, messages: messagesPath.split("#", 1)[0] as string };
}

/** The path of a URL's path and query. */
export function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] as string;
}
