/** Silence on a stream after which a comment is written. */
export const KEEP_ALIVE_MS = 15_000;
/** A stream whose reader is further behind than this many characters is ended. */
export const MAX_BEHIND = 8 * 1024 * 1024;
