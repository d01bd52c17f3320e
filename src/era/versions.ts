import { isVersionList } from "../protocol/errors.js";

/** Protocol version. */
export type ProtocolVersion = "2026-07-28" | "2025-11-25" | "2025-06-18" | "2025-03-26" | "2024-11-05";

/** Protocol versions with a handshake, newest first. */
export const HANDSHAKE_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
] as const satisfies readonly ProtocolVersion[];

/** Published draft of the oldest version. Servers that answer it are served as that version, as other clients do. */
const DRAFT = { version: "2024-10-07", of: "2024-11-05" };

/** True if a version that a server names in the handshake is among these. */
export function isAmong(versions: readonly string[], named: string): boolean {
  return versions.includes(named === DRAFT.version ? DRAFT.of : named);
}

/** Only version with batches. */
export const BATCHING_VERSION = "2025-03-26";

/** Only version in which clients ask for tasks by the member `task` of a request. */
export const AUGMENTING_VERSION = "2025-11-25";

/** Protocol versions in which each request is self-contained, newest first. */
export const STATELESS_VERSIONS = ["2026-07-28"] as const satisfies readonly ProtocolVersion[];

/** Name of an era. Legacy versions have a handshake. In modern ones each request is self-contained. */
export type EraName = "legacy" | "modern";

export const UNSUPPORTED_VERSION = -32022;

/** Returns the supported versions that an "unsupported version" error names. Returns undefined for other errors. */
export function supportedIn(error: { readonly code: number; readonly data?: unknown }): readonly string[] | undefined {
  if (error.code !== UNSUPPORTED_VERSION) return undefined;
  const supported = (error.data as { supported?: unknown } | null | undefined)?.supported;
  return isVersionList(supported) ? supported : undefined;
}

/** Error code: the client did not declare a capability that its request needs. */
export const MISSING_CAPABILITY = -32021;
