/**
 * Transports and eras that are measured. `modern` is version 2026-07-28. The others use 2025-11-25, or the newest
 * version that the peer supports.
 */
export const wires = {
  "http modern": { transport: "http", modern: true },
  "http legacy json": { transport: "http", modern: false, json: true },
  "http legacy sse": { transport: "http", modern: false },
  "stdio legacy": { transport: "stdio", modern: false },
  "stdio modern": { transport: "stdio", modern: true },
  "in-process legacy": { transport: "memory", modern: false },
  "in-process modern": { transport: "memory", modern: true },
};
