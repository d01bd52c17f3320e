/** The versions of the protocol that begin with a handshake, newest first. */
export const HANDSHAKE_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** The versions in which each request stands for itself, newest first. */
export const STATELESS_VERSIONS = ["2026-07-28"] as const;
