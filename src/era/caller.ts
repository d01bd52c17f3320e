import type { CallOrigin, ServerRuntime } from "./server-era.js";
import type { ServerLimits } from "./server-limits.js";

/** Part of a request by which its caller is told apart if it has no principal. */
export type Addressed = Pick<CallOrigin, "header" | "url" | "remote">;

/**
 * Returns the address of a caller without a principal, if it is known. Such callers can open any number of sessions and
 * connections, so their address counts before these.
 */
export function addressOf({ options }: Pick<ServerRuntime, "options">, origin: Addressed): string | undefined {
  const { remoteOf } = options.http ?? {};
  const { header, url = "", remote } = origin;
  if (remoteOf === undefined || header === undefined) return remote;
  return remoteOf({ url, remote, header: (name) => origin.header?.(name) });
}

/** Returns the part of a limit that all callers without a principal may use together. */
export function anonymousPart({ anonymousShare }: Pick<ServerLimits, "anonymousShare">, most: number): number {
  return anonymousShare === 0 ? 0 : Math.ceil(most * anonymousShare);
}
