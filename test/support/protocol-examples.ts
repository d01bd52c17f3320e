import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Example {
  /** The protocol's name for what this is an example of. */
  readonly type: string;
  readonly name: string;
  readonly value: unknown;
}

const root = new URL("../../../", import.meta.url);
const specification = process.env.MCP_SPEC_SCHEMA ?? fileURLToPath(new URL("../shared/spec/schema", root));
const folder = `${specification}/2026-07-28/examples`;

/** True when the specification's own examples are at hand. */
export const hasSpecification: boolean = existsSync(folder);

/** The specification's examples where they are at hand, and in any case our own. */
export function protocolExamples(): Example[] {
  return hasSpecification ? [...ownExamples(), ...specificationExamples()] : ownExamples();
}

function specificationExamples(): Example[] {
  return readdirSync(folder).flatMap((type) =>
    readdirSync(`${folder}/${type}`).map((name) => ({
      type,
      name,
      value: JSON.parse(readFileSync(`${folder}/${type}/${name}`, "utf8")),
    })),
  );
}

const envelope = {
  progressToken: "p-1",
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const marked = { annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-02T03:04:05Z" }, _meta: {} };
const icons = [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }];

const blocks = [
  { type: "text", text: "tide", ...marked },
  { type: "image", data: "AAEC", mimeType: "image/png", ...marked },
  { type: "audio", data: "AAE=", mimeType: "audio/wav", ...marked },
  { type: "resource_link", name: "chart", uri: "chart://1", size: 12, title: "Chart", ...marked },
  { type: "resource", resource: { uri: "chart://1", text: "depths", mimeType: "text/plain" }, ...marked },
  { type: "resource", resource: { uri: "chart://2", blob: "AA==" } },
];

const tool = {
  name: "sound",
  title: "Sound the depth",
  description: "Measures the depth",
  inputSchema: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
  outputSchema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
  annotations: { title: "t", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  execution: { taskSupport: "optional" },
  icons,
  _meta: {},
};

const formFields = {
  plain: { type: "string", title: "T", description: "D", minLength: 1, maxLength: 9, format: "email", default: "a" },
  count: { type: "integer", minimum: 0, maximum: 9, default: 1 },
  ratio: { type: "number" },
  sure: { type: "boolean", default: true },
  listed: { type: "string", enum: ["a", "b"], default: "a" },
  named: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
  titled: { type: "string", oneOf: [{ const: "a", title: "A" }], default: "a" },
  many: { type: "array", items: { type: "string", enum: ["a"] }, minItems: 0, maxItems: 1, default: ["a"] },
  manyTitled: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
};

const sampling = {
  messages: [
    { role: "user", content: { type: "text", text: "How deep?" } },
    { role: "assistant", content: [{ type: "tool_use", id: "u1", name: "sound", input: {} }] },
    { role: "user", content: [{ type: "tool_result", toolUseId: "u1", content: [blocks[0]], isError: false }] },
  ],
  maxTokens: 100,
  modelPreferences: { hints: [{ name: "small" }], costPriority: 0.1, speedPriority: 1, intelligencePriority: 0 },
  systemPrompt: "Be brief",
  includeContext: "none",
  temperature: 0.2,
  stopSequences: ["."],
  metadata: { a: 1 },
  tools: [tool],
  toolChoice: { mode: "auto" },
};

const form = {
  mode: "form",
  message: "Which?",
  requestedSchema: { type: "object", properties: formFields, required: ["plain"] },
};
const visit = { mode: "url", message: "Sign in", url: "https://example.com/in", elicitationId: "e1" };
const client = {
  name: "skipper",
  version: "1",
  title: "S",
  description: "d",
  websiteUrl: "https://example.com",
  icons,
};
const clientCan = {
  roots: { listChanged: true },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  experimental: { x: {} },
  extensions: { "com.example/x": {} },
};
const serverCan = {
  logging: {},
  completions: {},
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: false },
  tools: { listChanged: true },
  experimental: { x: {} },
  extensions: { "com.example/x": {} },
};
const filter = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["chart://1"],
};

/** One example of each thing at least, in words of our own. */
function ownExamples(): Example[] {
  const values: [string, unknown][] = [
    ["CallToolRequest", request("tools/call", { _meta: envelope, name: "sound", arguments: { at: "bow" } })],
    ["GetPromptRequest", request("prompts/get", { _meta: envelope, name: "log", arguments: { day: "1" } })],
    ["ReadResourceRequest", request("resources/read", { _meta: envelope, uri: "chart://1" })],
    ["ListToolsRequest", request("tools/list", { _meta: envelope, cursor: "" })],
    ["ListToolsRequest", { jsonrpc: "2.0", id: 0, method: "tools/list" }],
    ["ListPromptsRequest", request("prompts/list", { _meta: envelope })],
    ["ListResourcesRequest", request("resources/list", { _meta: envelope })],
    ["ListResourceTemplatesRequest", request("resources/templates/list", { _meta: envelope })],
    ["DiscoverRequest", request("server/discover", { _meta: envelope })],
    ["SubscriptionsListenRequest", request("subscriptions/listen", { _meta: envelope, notifications: filter })],
    [
      "CompleteRequest",
      request("completion/complete", {
        ref: { type: "ref/prompt", name: "log" },
        argument: { name: "day", value: "" },
        context: { arguments: { month: "5" } },
      }),
    ],
    [
      "CompleteRequestParams",
      { ref: { type: "ref/resource", uri: "chart://{n}" }, argument: { name: "n", value: "1" } },
    ],
    [
      "InitializeRequest",
      request("initialize", { protocolVersion: "2025-11-25", capabilities: clientCan, clientInfo: client }),
    ],
    ["PingRequest", request("ping", { _meta: { progressToken: 7 } })],
    ["SetLevelRequest", request("logging/setLevel", { level: "warning" })],
    ["SubscribeRequest", request("resources/subscribe", { uri: "chart://1" })],
    ["UnsubscribeRequest", request("resources/unsubscribe", { uri: "chart://1" })],
    ["ElicitRequest", { method: "elicitation/create", params: form }],
    ["ElicitRequest", { method: "elicitation/create", params: visit }],
    ["CreateMessageRequest", { method: "sampling/createMessage", params: sampling }],
    ["ListRootsRequest", { method: "roots/list" }],
    [
      "InputRequiredResult",
      { resultType: "input_required", inputRequests: { where: { method: "roots/list" } }, requestState: "sealed" },
    ],
    [
      "CallToolResult",
      { content: blocks, structuredContent: { depth: 3 }, isError: false, resultType: "complete", _meta: {} },
    ],
    ["GetPromptResult", { description: "d", messages: blocks.map((content) => ({ role: "user", content })) }],
    [
      "ReadResourceResult",
      {
        contents: [
          { uri: "a:b", text: "" },
          { uri: "a:c", blob: "" },
        ],
        ttlMs: 0,
        cacheScope: "private",
      },
    ],
    ["ListToolsResult", { tools: [tool], nextCursor: "n", ttlMs: 5, cacheScope: "public" }],
    [
      "ListPromptsResult",
      { prompts: [{ name: "log", title: "t", icons, arguments: [{ name: "day", required: true }] }] },
    ],
    ["ListResourcesResult", { resources: [{ name: "c", uri: "chart://1", icons, ...marked }] }],
    ["ListResourceTemplatesResult", { resourceTemplates: [{ name: "c", uriTemplate: "chart://{n}", ...marked }] }],
    ["CompleteResult", { completion: { values: ["a"], total: 1, hasMore: false } }],
    ["CompleteResult", { completion: { values: Array.from({ length: 100 }, String) } }],
    [
      "DiscoverResult",
      { supportedVersions: ["2026-07-28"], capabilities: serverCan, instructions: "i", ttlMs: 0, cacheScope: "public" },
    ],
    [
      "InitializeResult",
      { protocolVersion: "2025-11-25", capabilities: serverCan, serverInfo: client, instructions: "i" },
    ],
    ["SubscriptionsListenResult", { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": 4 } }],
    ["CreateMessageResult", { role: "assistant", content: [blocks[0]], model: "m", stopReason: "endTurn" }],
    ["ElicitResult", { action: "accept", content: { a: "x", b: 1, c: true, d: ["y"] } }],
    ["ListRootsResult", { roots: [{ uri: "file:///a", name: "a" }] }],
    ["CancelledNotification", notification("notifications/cancelled", { requestId: 0, reason: "enough" })],
    [
      "ProgressNotification",
      notification("notifications/progress", { progressToken: 1, progress: 0.5, total: 1, message: "m" }),
    ],
    [
      "LoggingMessageNotification",
      notification("notifications/message", { level: "info", logger: "l", data: { a: 1 } }),
    ],
    ["ResourceUpdatedNotification", notification("notifications/resources/updated", { uri: "chart://1" })],
    ["ToolListChangedNotification", { jsonrpc: "2.0", method: "notifications/tools/list_changed" }],
    ["InitializedNotification", notification("notifications/initialized", {})],
    ["RootsListChangedNotification", notification("notifications/roots/list_changed", { _meta: {} })],
    ["ElicitationCompleteNotification", notification("notifications/elicitation/complete", { elicitationId: "e1" })],
    [
      "SubscriptionsAcknowledgedNotification",
      notification("notifications/subscriptions/acknowledged", { notifications: filter }),
    ],
    ["LegacyCallToolResult", { content: [blocks[0]], structuredContent: {} }],
    ["LegacyCallToolRequestParams", { name: "sound", arguments: {}, task: { ttl: 5 } }],
    ["LegacyCancelledNotificationParams", { requestId: 1 }],
    ["ClientCapabilities", clientCan],
    ["ServerCapabilities", serverCan],
  ];
  return values.map(([type, value], index) => ({ type, name: `own-${index}`, value }));
}

function request(method: string, params: object): object {
  return { jsonrpc: "2.0", id: 1, method, params };
}

function notification(method: string, params: object): object {
  return { jsonrpc: "2.0", method, params };
}
