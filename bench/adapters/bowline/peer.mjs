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
  sessionless: ["http legacy json"],
  cancels: {
    "http modern": "close",
    "http legacy json": "notify",
    "http legacy sse": "notify",
    "stdio legacy": "notify",
    "stdio modern": "notify",
  },
  client: true,
  packages: { server: ["bowline", "zod"], client: ["bowline"] },
  imports: { server: ["bowline/server", "bowline/node"], client: ["bowline/client"] },
};
