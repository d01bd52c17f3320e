/** Whether this runs on node, or on what passes for it: it has a `fetch` of its own, and timers that outlive requests. */
export const isOnNode = typeof process === "object" && process.versions?.undici !== undefined;
