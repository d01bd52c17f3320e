export const peer = {
  wires: ["http legacy json", "http legacy sse", "stdio legacy", "in-process legacy"],
  cancels: { "http legacy json": "notify", "http legacy sse": "notify", "stdio legacy": "notify" },
  client: true,
  packages: { server: ["@modelcontextprotocol/sdk", "zod"], client: ["@modelcontextprotocol/sdk", "zod"] },
  imports: {
    server: ["@modelcontextprotocol/sdk/server/mcp.js", "@modelcontextprotocol/sdk/server/stdio.js"],
    client: ["@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/streamableHttp.js"],
  },
};
