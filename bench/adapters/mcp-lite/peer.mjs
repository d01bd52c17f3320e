/** Has no client and no stdio. Its handlers get no signal. */
export const peer = {
  wires: ["http legacy json", "http legacy sse", "in-process legacy"],
  cancels: {},
  packages: { server: ["mcp-lite", "@hono/node-server", "hono", "zod"] },
  imports: { server: ["mcp-lite"] },
  /** Newest version that it supports. It responds with JSON if the client accepts nothing else. */
  facts: { version: "2025-06-18", accept: "application/json" },
};
