import {
  descriptions,
  extraTools,
  handlers,
  hasProgress,
  hasSlow,
  info,
  resources,
  text,
} from "../../workload/app.mjs";

/** The responses equal those of Bowline, value for value. A test compares them. */
const object = (properties, required) => ({ type: "object", properties, required });

const extraInput = object({ query: { type: "string", description: "What to look up" }, limit: { type: "integer" } }, [
  "query",
]);

const tools = [
  { name: "echo", description: descriptions.echo, inputSchema: object({ text: { type: "string" } }, ["text"]) },
  ...extraTools.map((tool) => ({ ...tool, inputSchema: extraInput })),
];
if (hasProgress)
  tools.push({
    name: "progress",
    description: descriptions.progress,
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
  });
if (hasSlow) {
  tools.push({
    name: "slow",
    description: descriptions.slow,
    inputSchema: object({ tag: { type: "string" } }, ["tag"]),
  });
}

const capabilities = { tools: { listChanged: true }, resources: { listChanged: true } };
const cached = { ttlMs: 0, cacheScope: "private" };
const _meta = { "io.modelcontextprotocol/serverInfo": info };

/** Returns the response to every request except for those that take time. */
export function answerTo(message, modern) {
  return respond(message, resultOf(message, modern), modern);
}

export function respond({ id }, result, modern) {
  return { jsonrpc: "2.0", id, result: modern ? { resultType: "complete", ...result, _meta } : result };
}

function resultOf({ method, params }, modern) {
  switch (method) {
    case "tools/call":
      return params.name === "progress" ? text("done") : handlers.echo(params.arguments);
    case "tools/list":
      return modern ? { tools, ...cached } : { tools };
    case "resources/read": {
      const { text, mimeType } = resources.find(({ uri }) => uri === params.uri);
      const contents = [{ uri: params.uri, mimeType, text }];
      return modern ? { contents, ...cached } : { contents };
    }
    case "server/discover":
      return { supportedVersions: ["2026-07-28"], capabilities, ...cached };
    case "initialize":
      return { protocolVersion: params.protocolVersion, capabilities, serverInfo: info };
    default:
      return {};
  }
}

/** Reports progress with `send` and returns the response that follows. */
export async function progressOf(message, modern, send) {
  const { progressToken } = message.params._meta;
  const result = await handlers.progress((progress, total) =>
    send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress, total } }),
  );
  return respond(message, result, modern);
}

const calls = ({ method, params }, name) => method === "tools/call" && params.name === name;

export const wantsProgress = (message) =>
  calls(message, "progress") && message.params._meta?.progressToken !== undefined;

export const wantsSlow = (message) => calls(message, "slow");
