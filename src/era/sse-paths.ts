import type { Known } from "../protocol/known-options.js";

export interface SsePaths {
  /** Path of the stream. @default "/sse" */
  readonly path?: string | undefined;
  /** Path to which messages are posted. It may have a query. @default "/messages" */
  readonly messagesPath?: string | undefined;
}

export const SSE_PATHS: Known<SsePaths> = { path: "string", messagesPath: "string" };

/** Paths of the HTTP+SSE transport. `messages` may have a query. */
export interface ResolvedSsePaths {
  readonly stream: string;
  readonly messages: string;
}

export function resolveSsePaths(option: true | SsePaths): ResolvedSsePaths {
  const { path = "/sse", messagesPath = "/messages" } = option === true ? {} : option;
  return { stream: path, messages: messagesPath.split("#", 1)[0] as string };
}

/** Returns a URL without query and fragment. */
export function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] as string;
}

/** True if the URL ends in one of the two paths, behind any prefix. */
export function isSsePath(url: string, { stream, messages }: ResolvedSsePaths): boolean {
  const path = pathOf(url);
  return path.endsWith(stream) || path.endsWith(pathOf(messages));
}
