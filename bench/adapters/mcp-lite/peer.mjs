/** No client and no stdio; its handlers get no signal. */
export const peer = {
  wires: ["http legacy json", "http legacy sse", "in-process legacy"],
  cancels: {},
  packages: { server: ["mcp-lite", "@hono/node-server", "hono", "zod"] },
  imports: { server: ["mcp-lite"] },
  /** The newest revision it knows; it answers in JSON where nothing else is accepted. */
  facts: { version: "2025-06-18", accept: "application/json" },
};
