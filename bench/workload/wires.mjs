/** The ways a client and a server can meet. `modern`: revision 2026-07-28; the others speak 2025-11-25 or what they know. */
export const wires = {
  "http modern": { transport: "http", modern: true },
  "http legacy json": { transport: "http", modern: false, json: true },
  "http legacy sse": { transport: "http", modern: false },
  "stdio legacy": { transport: "stdio", modern: false },
  "stdio modern": { transport: "stdio", modern: true },
  "in-process legacy": { transport: "memory", modern: false },
  "in-process modern": { transport: "memory", modern: true },
};
