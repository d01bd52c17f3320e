/**
 * Plain Node, the reference ("floor"): JSON.parse, one switch, JSON.stringify. No schema, no session, no validation.
 */
export const peer = {
  wires: [
    "http modern",
    "http legacy json",
    "http legacy sse",
    "stdio legacy",
    "stdio modern",
    "in-process legacy",
    "in-process modern",
  ],
  cancels: { "http modern": "close" },
};
