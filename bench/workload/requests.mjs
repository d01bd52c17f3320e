import { progressSteps, resources } from "./app.mjs";

const [small, large] = resources;
const content = (message) => message.result.content[0].text;
const contents = (message) => message.result.contents[0].text;

/**
 * Requests of the calls, so that no client is involved. `proper` is true if the messages of a server are a complete
 * response: the notifications and the response, in order.
 */
export const calls = {
  echo: {
    method: "tools/call",
    params: { name: "echo", arguments: { text: "hello world" } },
    proper: ([answer]) => content(answer) === "hello world",
  },
  list: {
    method: "tools/list",
    params: {},
    proper: ([answer]) => answer.result.tools.length === 101 && answer.result.tools.every((tool) => tool.inputSchema),
  },
  read1k: {
    method: "resources/read",
    params: { uri: small.uri },
    proper: ([answer]) => contents(answer) === small.text,
  },
  read1m: {
    method: "resources/read",
    params: { uri: large.uri },
    proper: ([answer]) => contents(answer) === large.text,
  },
  progress: {
    method: "tools/call",
    params: { name: "progress", arguments: {} },
    token: true,
    proper: (messages) => messages.length === progressSteps + 1 && content(messages.at(-1)) === "done",
  },
};

export const slowCall = (tag) => ({ method: "tools/call", params: { name: "slow", arguments: { tag } } });

export const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export function bodyOf(wire, call, id) {
  const meta = { ...(wire.modern ? envelope : {}), ...(call.token ? { progressToken: id } : {}) };
  const params = Object.keys(meta).length === 0 ? call.params : { ...call.params, _meta: meta };
  return JSON.stringify({ jsonrpc: "2.0", id, method: call.method, params });
}

const placeholder = 987_654_321;
let nextId = 100_000_000;

/** Returns a function that makes the bodies of one call. Only the id differs, and its length does not. */
export function bodies(wire, call) {
  const parts = bodyOf(wire, call, placeholder).split(String(placeholder));
  return () => {
    const id = nextId++;
    return { id, text: parts.join(id) };
  };
}

export function headersOf(wire, call, { session, version = "2025-11-25", accept } = {}) {
  const headers = {
    "content-type": "application/json",
    accept: (wire.json && accept) || "application/json, text/event-stream",
  };
  if (wire.modern) {
    headers["mcp-protocol-version"] = "2026-07-28";
    headers["mcp-method"] = call.method;
    const name = call.params?.name ?? call.params?.uri;
    if (name !== undefined) headers["mcp-name"] = name;
    return headers;
  }
  if (call.method !== "initialize") headers["mcp-protocol-version"] = version;
  if (session !== undefined) headers["mcp-session-id"] = session;
  return headers;
}

export const initialize = (version = "2025-11-25") => ({
  method: "initialize",
  params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } },
});

export const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

export const cancellation = (id) =>
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"bench"}}`;

/** Returns the JSON-RPC messages of an HTTP body: one in JSON, or one per event. */
export function messagesIn(text) {
  if (text.startsWith("{")) return [JSON.parse(text)];
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:") && line.length > 6)
    .map((line) => JSON.parse(line.slice(5)));
}

export function assertProper(name, messages) {
  let proper = false;
  try {
    proper = calls[name].proper(messages);
  } catch {}
  if (!proper) throw new Error(`${name} was answered by ${JSON.stringify(messages).slice(0, 300)}`);
}
