/** Built on official v1, whose client its users use. */
export const peer = {
  wires: ["http legacy json", "http legacy sse", "stdio legacy", "in-process legacy"],
  cancels: { "http legacy json": "notify", "http legacy sse": "notify", "stdio legacy": "notify" },
  packages: { server: ["fastmcp", "zod"] },
  imports: { server: ["fastmcp"] },
  /** Optional imports of its dependencies that are not installed. */
  unresolved: ["effect", "sury", "@valibot/to-json-schema"],
};
