import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import { heardBy, legacyWires, modernWires, type RecordedClient, type World } from "../../support/each-wire.js";
import { LEGACY_VERSIONS, MODERN } from "../../support/server-script.js";
import { hasSchemas, messageProblemsAt, problemsAt } from "../../support/spec-schema.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2", title: "Harbour", websiteUrl: "https://example.com" };
const depth = { type: "object", properties: { metres: { type: "number" } }, required: ["metres"] } as const;
const form = { type: "object", properties: { sure: { type: "boolean" } } } as const;

function harbour() {
  return new McpServer(me, { instructions: "Mind the tide", cache: { ttlMs: 5 } })
    .tool("sound", { output: depth }, async (_, ctx) => {
      await ctx.progress(1, 2);
      await ctx.log("info", "sounding");
      return { metres: 3 };
    })
    .tool("ask", {}, async (_, ctx) => (await ctx.elicit("Sure?", form)).action)
    .tool("think", {}, async (_, ctx) => (await ctx.sample({ messages: [], maxTokens: 1 })).model)
    .tool("where", {}, async (_, ctx) => `${(await ctx.listRoots()).length}`)
    .prompt(
      "log",
      { arguments: { type: "object", properties: { day: { type: "string" } } }, complete: { day: () => ["1"] } },
      () => "Write it",
    )
    .resource("chart:1", { name: "chart" }, () => "depths")
    .resource("chart:x{n}", { name: "charts" }, () => "depths");
}

const results: Record<string, string> = {
  initialize: "InitializeResult",
  "server/discover": "DiscoverResult",
  ping: "EmptyResult",
  "logging/setLevel": "EmptyResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "prompts/list": "ListPromptsResult",
  "prompts/get": "GetPromptResult",
  "resources/list": "ListResourcesResult",
  "resources/templates/list": "ListResourceTemplatesResult",
  "resources/read": "ReadResourceResult",
  "resources/subscribe": "EmptyResult",
  "resources/unsubscribe": "EmptyResult",
  "completion/complete": "CompleteResult",
  "subscriptions/listen": "SubscriptionsListenResult",
};

/** Everything that a client can do, once. */
async function sail(client: RecordedClient, server: McpServer): Promise<void> {
  const version = client.version as string;
  if (version !== MODERN) await client.request("ping");
  await client.setLogLevel("debug");
  await client.listTools();
  await client.callTool("sound", {}, { onProgress: () => {} });
  if (version >= "2025-06-18") equal((await client.callTool("ask")).text, "decline");
  else equal((await client.callTool("ask")).isError, true);
  equal((await client.callTool("think")).text, "small");
  equal((await client.callTool("where")).text, "1");
  for await (const _ of client.prompts());
  await client.getPrompt("log", { day: "1" });
  for await (const _ of client.resources());
  for await (const _ of client.resourceTemplates());
  await client.readResource("chart:1");
  await client.complete({ type: "ref/prompt", name: "log" }, { name: "day", value: "" });
  const watch = await client.watch({ toolsListChanged: true, resources: ["chart:1"] });
  const changes = watch[Symbol.asyncIterator]();
  server.changes.toolsChanged();
  server.changes.resourceUpdated("chart:1");
  await changes.next();
  await changes.next();
  await watch.close();
}

const handlers = {
  info: { name: "skipper", version: "1", title: "Skipper", description: "d" },
  onElicit: () => ({ action: "decline" as const }),
  onSample: () => ({ role: "assistant" as const, content: { type: "text" as const, text: "x" }, model: "small" }),
  roots: [{ uri: "file:///a" }],
};

/** Everything on the wire that the version has no name for. */
function strangers(client: RecordedClient, version: string): string[] {
  const asked = new Map<string, string>();
  return client.wire.frames.flatMap(({ from, message }) => {
    if (message === undefined) return [];
    const { method, id } = message;
    if (method === undefined) return answerProblems(message, version, asked.get(`${from} ${id}`));
    if (id !== undefined) asked.set(`${from === "client" ? "server" : "client"} ${id}`, method);
    return messageProblemsAt(version, message);
  });
}

function answerProblems(message: RecordedMessage, version: string, method: string | undefined): string[] {
  if (message.error !== undefined)
    return problemsAt(version, version >= "2025-11-25" ? "JSONRPCErrorResponse" : "JSONRPCError", message);
  if (message.result?.resultType === "input_required")
    return problemsAt(version, "InputRequiredResult", message.result);
  return problemsAt(version, results[method ?? ""] ?? "ClientResult", message.result);
}

verifies(
  ["lifecycle:operation:respect-version", "lifecycle:era:legacy-client-served"],
  legacyWires,
  async (world: World) => {
    for (const version of LEGACY_VERSIONS) {
      const server = harbour() as unknown as McpServer;
      const client = await world.connect(server, { ...handlers, versions: [version] });
      await heardBy(client, world);
      await sail(client, server);
      const sounded = client.wire.responsesTo("tools/call")[0]?.result;
      equal(sounded?.structuredContent !== undefined, version >= "2025-06-18");
      deepEqual(sounded?.content, [{ type: "text", text: '{"metres":3}' }]);
      equal(client.wire.serverRequests("elicitation/create").length, version >= "2025-06-18" ? 1 : 0);
      for (const method of ["server/discover", "subscriptions/listen"]) {
        await rejects(client.request(method), (error) => error instanceof RpcError && error.local);
      }
      if (hasSchemas) deepEqual(strangers(client, version), []);
      ok(client.wire.frames.length > 40);
    }
  },
);

verifies(
  ["protocol:result-type:stamped", "lifecycle:stateless:request-envelope"],
  "all of a session fits the specification",
  modernWires,
  async (world: World) => {
    const server = harbour() as unknown as McpServer;
    const client = await world.connect(server, handlers);
    await sail(client, server);
    for (const { message } of client.wire.frames) {
      if (message?.result !== undefined) equal(typeof message.result.resultType, "string");
      if (message?.id !== undefined && message.method !== undefined) ok(message.params?._meta !== undefined);
    }
    if (hasSchemas) deepEqual(strangers(client, MODERN), []);
  },
);
