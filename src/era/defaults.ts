/** What goes where the author of a server says nothing. */
export const MAX_ROUNDS = 16;
export const MAX_SUBSCRIPTIONS = 10_000;
export const MAX_WAITING_CHANGES = 1024;
export const ASK_TIMEOUT_MS = 300_000;
