import {
  type CompatTransport,
  completable,
  McpServer,
  type RegisteredTool,
  ResourceTemplate,
  Server,
  StdioServerTransport,
} from "bowline/compat";
import * as z from "zod";

// A server as programs of the official SDK write it: no handler has types but those that it gets from the registration.

/** Registers everything with the high-level server. */
export function createOfficialServer(): McpServer {
  const server = new McpServer(
    { name: "moving", version: "1.0.0", title: "Moving" },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "Ask for sums" },
  );
  const add: RegisteredTool = server.registerTool(
    "add",
    {
      title: "Add",
      inputSchema: { a: z.number(), b: z.number().default(1), note: z.string().optional() },
      outputSchema: { sum: z.number() },
      annotations: { readOnlyHint: true },
    },
    async ({ a, b, note }, { sendNotification, _meta, signal, requestId }) => {
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined)
        await sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1 } });
      if (signal.aborted) return { content: [{ type: "text", text: "aborted" }], isError: true };
      const text = `${a.toFixed()} ${b.toFixed()} ${note?.toUpperCase()} ${requestId}`;
      return { content: [{ type: "text", text }], structuredContent: { sum: a + b } };
    },
  );
  add.update({ description: "Adds two numbers" });
  server.registerTool("plain", { description: "Takes nothing" }, (extra) => ({
    content: [{ type: "text", text: String(extra.requestId) }],
  }));
  const renamed = server.registerTool("old", {}, () => ({ content: [] }));
  renamed.update({
    name: "new",
    paramsSchema: { q: z.string() },
    callback: ({ q }) => ({ content: [{ type: "text", text: q.trim() }] }),
  });
  server.registerTool("ask", { inputSchema: z.object({ topic: z.string() }) }, async ({ topic }, extra) => {
    const requestedSchema = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] };
    const form = await server.server.elicitInput({ message: topic, requestedSchema });
    const schema = z.object({ action: z.enum(["accept", "decline", "cancel"]) });
    const params = { message: topic, requestedSchema };
    const again = await extra.sendRequest({ method: "elicitation/create", params }, schema);
    const sampled = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: topic } }],
      maxTokens: 10,
    });
    const { roots } = await server.server.listRoots();
    const said = sampled.content.type === "text" ? sampled.content.text : sampled.model;
    return { content: [{ type: "text", text: `${form.content?.sure} ${again.action} ${said} ${roots[0]?.uri}` }] };
  });
  server.tool("v1", "Has words", { a: z.string() }, { readOnlyHint: true }, ({ a }, { requestId }) => ({
    content: [{ type: "text", text: `${a.trim()} ${requestId}` }],
  }));
  server.tool("v1-plain", (extra) => ({ content: [{ type: "text", text: String(extra.requestId) }] }));
  definePromptsAndResources(server);
  server.server.oninitialized = () => void server.server.getClientVersion()?.name;
  server.server.onerror = (error) => void error.message;
  return server;
}

function definePromptsAndResources(server: McpServer): void {
  const city = completable(z.string(), (typed, context) => [typed, context?.arguments?.country ?? ""]);
  server.registerPrompt("weather", { argsSchema: { city, day: z.string().optional() } }, ({ city, day }) => ({
    messages: [{ role: "user", content: { type: "text", text: `${city.trim()} ${day?.trim()}` } }],
  }));
  server.prompt("v1", { a: z.string() }, ({ a }) => ({
    messages: [{ role: "user", content: { type: "text", text: a.trim() } }],
  }));
  const readme = server.registerResource("readme", "note://readme", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, text: "read me" }],
  }));
  readme.update({
    metadata: { title: "Read me" },
    callback: (uri) => ({ contents: [{ uri: uri.href, text: "new" }] }),
  });
  const template = new ResourceTemplate("note://{id}", {
    list: async () => ({ resources: [{ uri: "note://1", name: "one" }] }),
    complete: { id: (typed) => [typed] },
  });
  server.registerResource("note", template, {}, (uri, { id }, { requestId }) => ({
    contents: [{ uri: uri.href, text: `${id} ${requestId}` }],
  }));
  server.resource("v1", "note://v1", (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));
}

const SearchSchema = z.object({
  method: z.literal("acme/search"),
  params: z.object({ query: z.string(), limit: z.number().default(3) }),
});

/** Serves methods with the low-level server: by schema (version 1) and by name (version 2). */
export function createOfficialLowLevel(): Server {
  const server = new Server({ name: "low", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async (request) => ({
    tools: [{ name: "echo", inputSchema: { type: "object" } }],
    _meta: { cursor: request.params.cursor ?? "none" },
  }));
  server.setRequestHandler("tools/call", async (request, extra) => {
    if (request.params.name !== "echo") throw new Error(`Unknown tool: ${request.params.name}`);
    return { content: [{ type: "text", text: `${request.params.arguments?.text} ${extra.requestId}` }] };
  });
  server.setRequestHandler(SearchSchema, ({ params }) => ({ found: [params.query.trim()], limit: params.limit }));
  server.setRequestHandler("acme/count", { params: z.object({ of: z.string() }) }, ({ of }) => ({ count: of.length }));
  return server;
}

/** Connects as the last lines of a program do. */
export async function connectOfficial(server: McpServer, transport?: CompatTransport): Promise<void> {
  await server.connect(transport ?? new StdioServerTransport());
}
