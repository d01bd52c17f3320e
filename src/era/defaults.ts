/** What goes where the author of a server says nothing. */
export const MAX_ROUNDS = 16;
export const MAX_SUBSCRIPTIONS = 10_000;
export const MAX_WAITING_CHANGES = 1024;
export const ASK_TIMEOUT_MS = 300_000;

/** Silence on a stream after which a comment is written. */
export const KEEP_ALIVE_MS = 15_000;
/** A stream whose reader is further behind than this many characters is ended. */
export const MAX_BEHIND = 8 * 1024 * 1024;
