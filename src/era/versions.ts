import { isVersionList } from "../protocol/errors.js";

/** The versions of the protocol that begin with a handshake, newest first. */
export const HANDSHAKE_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** The one in which messages may come in arrays. */
export const BATCHING_VERSION = "2025-03-26";

/** The versions in which each request stands for itself, newest first. */
export const STATELESS_VERSIONS = ["2026-07-28"] as const;

export const UNSUPPORTED_VERSION = -32022;

/** The versions that a refusal of the present one names, if it is such a refusal. */
export function supportedIn(error: { readonly code: number; readonly data?: unknown }): readonly string[] | undefined {
  if (error.code !== UNSUPPORTED_VERSION) return undefined;
  const supported = (error.data as { supported?: unknown } | null | undefined)?.supported;
  return isVersionList(supported) ? supported : undefined;
}

/** The client did not declare a capability that its request needs. */
export const MISSING_CAPABILITY = -32021;
