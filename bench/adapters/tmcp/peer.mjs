/**
 * Has no network client. Over HTTP it always responds with events. `notifications/cancelled` does not reach its tools;
 * only the end of the connection does.
 */
export const peer = {
  wires: ["http modern", "http legacy sse", "stdio legacy", "stdio modern", "in-process legacy", "in-process modern"],
  cancels: { "http modern": "close", "http legacy sse": "close" },
  packages: { server: ["tmcp", "@tmcp/adapter-zod", "@tmcp/transport-http", "@tmcp/transport-stdio", "zod"] },
  imports: { server: ["tmcp", "@tmcp/adapter-zod", "@tmcp/transport-stdio"] },
};
