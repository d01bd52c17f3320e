/** Valid requests of clients of both eras. */

export const MODERN = "2026-07-28";
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const BOTH = "application/json, text/event-stream";
export const ALL_CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
  extensions: { "com.example/jobs": {} },
};

const PREFIX = "io.modelcontextprotocol/";

/** Returns the params of a modern request, with its envelope. */
export function enveloped(params = {}, { capabilities = {}, meta = {} } = {}) {
  return {
    ...params,
    _meta: {
      [`${PREFIX}protocolVersion`]: MODERN,
      [`${PREFIX}clientInfo`]: { name: "oracle-client", version: "1.0.0" },
      [`${PREFIX}clientCapabilities`]: capabilities,
      ...meta,
    },
  };
}

/**
 * Returns a modern request over HTTP.
 * @param {string} method
 * @param {Record<string, any>} [params]
 * @param {{ id?: string | number, capabilities?: object, meta?: object, headers?: Record<string, string | string[] |
 * undefined> }} [more]
 */
export function modernPost(method, params = {}, more = {}) {
  const name = method === "completion/complete" ? undefined : (params.name ?? params.uri);
  return {
    method: "POST",
    url: "/mcp",
    headers: {
      "content-type": "application/json",
      accept: BOTH,
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      ...(typeof name === "string" && /^[\x21-\x7e]+$/.test(name) && { "mcp-name": name }),
      ...more.headers,
    },
    body: { jsonrpc: "2.0", id: more.id ?? 1, method, params: enveloped(params, more) },
  };
}

export function initializeMessage(version = LEGACY[0], capabilities = {}, id = "init") {
  const params = { protocolVersion: version, capabilities, clientInfo: { name: "oracle-client", version: "1.0.0" } };
  return { jsonrpc: "2.0", id, method: "initialize", params };
}

export const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };

/** Returns a POST of the legacy era in the latest session of the scenario. */
export function legacyPost(body, { version, headers } = {}) {
  return {
    method: "POST",
    url: "/mcp",
    headers: {
      "content-type": "application/json",
      accept: BOTH,
      "mcp-session-id": "{{session}}",
      ...(version !== undefined && { "mcp-protocol-version": version }),
      ...headers,
    },
    body,
  };
}

/** Returns the steps that open a session. */
export function handshake(version, capabilities = {}, headers = {}) {
  const first = legacyPost(initializeMessage(version, capabilities), {
    headers: { "mcp-session-id": undefined, ...headers },
  });
  return [first, legacyPost(INITIALIZED, { version, headers })];
}

export function legacyRequest(method, params, { id = 1, version, headers } = {}) {
  return legacyPost({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) }, { version, headers });
}

export function getStream({ version, headers } = {}) {
  const own = {
    accept: "text/event-stream",
    "mcp-session-id": "{{session}}",
    ...(version && { "mcp-protocol-version": version }),
  };
  return { method: "GET", url: "/mcp", headers: { ...own, ...headers }, open: 1 };
}
