import { randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { ledger } from "./ledger.js";
import { listen } from "./listen.js";
import { MemoryEvents } from "./memory-events.js";
import * as words from "./words.js";

/** The server of the official SDK, version 1: `node v1.js stdio|http|json|resumable`. */
const mode = process.argv[2] ?? "stdio";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** In JSON mode the requests of a call go out on the session's own stream. */
const related = (id: RequestId) => (mode === "json" ? {} : { relatedRequestId: id });

if (mode === "stdio") await buildServer().connect(new StdioServerTransport());
else await listen(sessions());

function buildServer(): McpServer {
  const server = new McpServer(
    { name: words.SERVER_NAME, version: "1.0.0" },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  server.registerTool("echo", { inputSchema: { text: z.string() } }, (args) => text(args.text));
  server.registerTool(
    "count",
    { inputSchema: { to: z.int(), key: z.string() } },
    async ({ to, key }, { _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken;
      for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
        const params = { progressToken, progress, total: to, message: `step ${progress}` };
        await sendNotification({ method: "notifications/progress", params });
      }
      await ledger.seen(key, "heard");
      return text(`counted to ${to}`);
    },
  );
  server.registerTool(
    "add",
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", {}, () => {
    throw new Error(words.FAILURE);
  });
  server.registerTool("wait", { inputSchema: { key: z.string() } }, async ({ key }, { signal }) => {
    await ledger.untilCancelled(key, signal);
    return text(words.ENDLESS);
  });
  server.registerTool("seen", { inputSchema: { key: z.string(), what: z.string() } }, async ({ key, what }) =>
    text(await ledger.seen(key, what)),
  );
  server.registerTool("note", { inputSchema: { key: z.string() } }, ({ key }) => {
    ledger.note(key, "heard");
    return text("");
  });
  server.registerTool("ask", {}, async ({ requestId }) => {
    const requestedSchema = {
      type: "object" as const,
      properties: { colour: { type: "string" as const } },
      required: ["colour"],
    };
    const answer = await server.server.elicitInput({ message: words.QUESTION, requestedSchema }, related(requestId));
    return text(words.chosen(answer.action, answer.content?.colour));
  });
  server.registerTool("sample", {}, async ({ requestId }) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "knot?" } }];
    const reply = await server.server.createMessage({ messages, maxTokens: 10 }, related(requestId));
    return text(reply.content.type === "text" ? reply.content.text : "");
  });
  server.registerTool("roots", {}, async ({ requestId }) => {
    const { roots } = await server.server.listRoots(undefined, related(requestId));
    return text(roots.map(({ uri }) => uri).join(" "));
  });
  server.registerTool("log", {}, async ({ sessionId }) => {
    await server.sendLoggingMessage({ level: "debug", data: "too much" }, sessionId);
    await server.sendLoggingMessage({ level: "info", data: "logged" }, sessionId);
    return text("");
  });
  server.registerTool("touch", {}, () => {
    server.sendToolListChanged();
    return text("");
  });
  server.registerResource("pinned", words.NOTE_URI, {}, (uri) => ({
    contents: [{ uri: uri.href, text: words.NOTE_TEXT }],
  }));
  server.registerResource("numbered", new ResourceTemplate(words.TEMPLATE, { list: undefined }), {}, (uri, { id }) => ({
    contents: [{ uri: uri.href, text: words.numbered(String(id)) }],
  }));
  server.registerPrompt(
    "greet",
    { argsSchema: { city: completable(z.string(), (start) => words.suggested(start ?? "")) } },
    ({ city }) => ({ messages: [{ role: "user", content: { type: "text", text: words.greeting(city) } }] }),
  );
  return server;
}

/** Creates a transport and a server for each session. */
function sessions(): RequestListener {
  const open = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? open.get(id) : undefined;
    if (known !== undefined) return known.handleRequest(request, response);
    if (id !== undefined) return response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (created) => void open.set(created, transport),
      onsessionclosed: (ended) => void open.delete(ended),
      enableJsonResponse: mode === "json",
      ...(mode === "resumable" ? { eventStore: new MemoryEvents(), retryInterval: 50 } : undefined),
    });
    await buildServer().connect(transport);
    return transport.handleRequest(request, response);
  };
}
