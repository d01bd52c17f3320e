/** Silence on a stream after which a comment is written. */
export const KEEP_ALIVE_MS = 15_000;
