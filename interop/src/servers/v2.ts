import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import {
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import type { Era } from "../driver.js";
import { ledger } from "./ledger.js";
import { listen } from "./listen.js";
import { MemoryEvents } from "./memory-events.js";
import * as words from "./words.js";

/** The server of the official SDK, version 2, in both eras: `node v2.js stdio|http|json|resumable|stateless`. */
const mode = process.argv[2] ?? "stdio";

const COLOUR = {
  type: "object" as const,
  properties: { colour: { type: "string" as const } },
  required: ["colour"],
};
const SAMPLE = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "knot?" } }],
  maxTokens: 10,
};

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

if (mode === "stdio") serveStdio(({ era }) => buildServer(era));
else await listen(mode === "stateless" ? stateless() : sessions());

function buildServer(era: Era, toolsChanged?: () => void): McpServer {
  const server = new McpServer(
    { name: words.SERVER_NAME, version: "1.0.0" },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, (args) => text(args.text));
  server.registerTool(
    "count",
    { inputSchema: z.object({ to: z.int(), key: z.string() }) },
    async ({ to, key }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
        const params = { progressToken, progress, total: to, message: `step ${progress}` };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      await ledger.seen(key, "heard");
      return text(`counted to ${to}`);
    },
  );
  server.registerTool(
    "add",
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", {}, () => {
    throw new Error(words.FAILURE);
  });
  server.registerTool("wait", { inputSchema: z.object({ key: z.string() }) }, async ({ key }, { mcpReq }) => {
    await ledger.untilCancelled(key, mcpReq.signal);
    return text(words.ENDLESS);
  });
  server.registerTool("seen", { inputSchema: z.object({ key: z.string(), what: z.string() }) }, async ({ key, what }) =>
    text(await ledger.seen(key, what)),
  );
  server.registerTool("note", { inputSchema: z.object({ key: z.string() }) }, ({ key }) => {
    ledger.note(key, "heard");
    return text("");
  });
  registerQuestions(server, era);
  server.registerTool("log", {}, async ({ mcpReq }) => {
    await mcpReq.log("debug", "too much");
    await mcpReq.log("info", "logged");
    return text("");
  });
  server.registerTool("touch", {}, () => {
    if (toolsChanged === undefined) server.sendToolListChanged();
    else toolsChanged();
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
    { argsSchema: z.object({ city: completable(z.string(), (start) => words.suggested(start ?? "")) }) },
    ({ city }) => ({ messages: [{ role: "user", content: { type: "text", text: words.greeting(city) } }] }),
  );
  return server;
}

/** Registers tools that ask the client: by requests in the legacy era, by `input_required` in the modern one. */
function registerQuestions(server: McpServer, era: Era): void {
  if (era === "legacy") {
    server.registerTool("ask", {}, async ({ mcpReq }) => {
      const answer = await mcpReq.elicitInput({ message: words.QUESTION, requestedSchema: COLOUR });
      return text(words.chosen(answer.action, answer.content?.colour));
    });
    server.registerTool("sample", {}, async ({ mcpReq }) => {
      const { content } = await mcpReq.requestSampling(SAMPLE);
      const [first] = [content].flat();
      return text(first?.type === "text" ? first.text : "");
    });
    server.registerTool("roots", {}, async ({ mcpReq }) => {
      // In JSON mode the request goes out on the session's own stream.
      const related = mode === "json" ? {} : { relatedRequestId: mcpReq.id };
      const { roots } = await server.server.listRoots(undefined, related);
      return text(roots.map(({ uri }) => uri).join(" "));
    });
    return;
  }
  server.registerTool("ask", {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "colour");
    if (answer.kind === "elicit") return text(words.chosen(answer.action, answer.content?.colour));
    const colour = inputRequired.elicit({ message: words.QUESTION, requestedSchema: COLOUR });
    return inputRequired({ inputRequests: { colour }, requestState: "asked" });
  });
  server.registerTool("sample", {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "knot");
    if (answer.kind !== "sampling")
      return inputRequired({ inputRequests: { knot: inputRequired.createMessage(SAMPLE) } });
    const [first] = [answer.result.content].flat();
    return text(first?.type === "text" ? first.text : "");
  });
  server.registerTool("roots", {}, ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "roots");
    if (answer.kind !== "roots") return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    return text(answer.roots.map(({ uri }) => uri).join(" "));
  });
}

/** Serves every request without a session, in both eras. */
function stateless(): RequestListener {
  const handler = createMcpHandler(({ era }) => buildServer(era, () => handler.notify.toolsChanged()));
  return toNodeHandler(handler);
}

/** Serves the legacy era with sessions, the modern era with the SDK's own handler. */
function sessions(): RequestListener {
  const open = new Map<string, NodeStreamableHTTPServerTransport>();
  const handler = createMcpHandler(({ era }) => buildServer(era, () => handler.notify.toolsChanged()), {
    legacy: "reject",
    responseMode: mode === "json" ? "json" : "auto",
  });
  const serveAlone = toNodeHandler(handler);
  const serveSession = async (request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? open.get(id) : undefined;
    if (known !== undefined) return known.handleRequest(request, response, body);
    if (id !== undefined) return void response.writeHead(404).end();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (created) => void open.set(created, transport),
      onsessionclosed: (ended) => void open.delete(ended),
      enableJsonResponse: mode === "json",
      ...(mode === "resumable" ? { eventStore: new MemoryEvents(), retryInterval: 50 } : undefined),
    });
    await buildServer("legacy").connect(transport);
    return transport.handleRequest(request, response, body);
  };
  return async (request, response) => {
    const copy = await toWebRequest(request);
    const legacy = await isLegacyRequest(copy);
    const body = request.method === "POST" ? await copy.json() : undefined;
    await (legacy ? serveSession(request, response, body) : serveAlone(request, response, body));
  };
}
