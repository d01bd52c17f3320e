import { define } from "./definitions.mjs";

const INFO = { name: "oracle", version: "1.0.0", title: "Oracle" };
/** Time at which tokens are verified, in milliseconds. */
const NOW = 1_800_000_000_000;
const RESOURCE = "https://api.example.com/mcp";
const ISSUER = "https://issuer.example.com";

/** Older builds have an option of its own. */
function preferringJson({ McpServer }) {
  const http = { preferJson: true };
  try {
    new McpServer(INFO, { http });
    return http;
  } catch {
    return { responseMode: "prefer-json" };
  }
}

/** Options of each kind of server that scenarios name. */
const KINDS = {
  plain: () => ({}),
  bare: () => ({ capabilities: { tools: true } }),
  "no-capabilities": () => ({}),
  options: () => ({
    instructions: "Be brief.",
    maskErrors: true,
    pageSize: 3,
    identify: false,
    cache: { ttlMs: 1000, scope: "public", methods: { "tools/list": { ttlMs: 60_000 } } },
    capabilities: { experimental: { "com.example/x": { on: true } }, tools: { listChanged: false }, logging: true },
    resources: { unsafePaths: true },
  }),
  "no-sessions": () => ({ http: { sessions: false } }),
  "prefer-json": (sdk) => ({ http: preferringJson(sdk) }),
  "mode-sse": () => ({ http: { responseMode: "sse" } }),
  "mode-json": () => ({ http: { responseMode: "json" } }),
  resumable: () => ({ http: { resumable: true, retryMs: 1500 } }),
  "event-log": (_sdk, journal) => ({ http: { resumable: createEventLog(journal) } }),
  sse: () => ({ http: { sse: true } }),
  "sse-paths": () => ({ http: { sse: { path: "/old/sse", messagesPath: "/old/messages" } } }),
  cors: () => ({ http: { cors: true, allowedOrigins: ["https://app.example.com", "localhost"] } }),
  hosts: () => ({
    http: { allowedHosts: ["api.example.com", "*.example.org"], allowedOrigins: ["https://app.example.com", "null"] },
  }),
  open: () => ({ http: { allowedHosts: "*", allowedOrigins: false, cors: true } }),
  small: () => ({
    limits: { maxBodyBytes: 600, maxBehind: 200, maxSessions: 2, sessionIdleMs: 5000 },
    http: { keepAliveMs: 1000 },
  }),
  guarded: (sdk) => ({ http: { gate: createProtection(sdk) } }),
  "guarded-loose": (sdk) => ({
    http: { cors: true, gate: createProtection(sdk, { resource: undefined, authorizationServers: undefined }) },
  }),
  gate: (_sdk, journal) => ({ http: { gate: createGate(journal) } }),
  extended: () => ({ capabilities: { extensions: { "com.example/plain": { a: 1 } } } }),
  intercepted: (sdk, journal) => ({ interceptors: [createInterceptor(sdk, journal, "first")] }),
  "modern-entry": (sdk) => ({ validator: createValidator(sdk) }),
  "one-version": () => ({ versions: ["2025-06-18"] }),
  "two-versions": () => ({ versions: ["2026-07-28", "2024-11-05"] }),
  "no-get": () => ({ http: { sessions: { clientMayListen: false, clientMayEnd: false } } }),
  hooks: (_sdk, journal) => ({
    http: {
      sessions: {
        createId: () => "session-of-the-author",
        onOpen: (id) => journal.saw("session opens", id),
        onEnd: (id) => journal.saw("session ends", id),
      },
    },
    resources: {
      onSubscribe: (uri) => journal.saw("watched", uri),
      onUnsubscribe: (uri) => journal.saw("unwatched", uri),
    },
    onConnection: ({ client }) => journal.saw("connection", client ?? null),
  }),
  limits: () => ({
    limits: {
      maxSubscriptions: 1,
      maxSubscriptionMs: 30_000,
      maxWaitingChanges: 1,
      maxRounds: 1,
      askTimeoutMs: 2000,
      stateTtlMs: 5000,
    },
    progressIntervalMs: 1000,
    logLevel: "warning",
    pings: { intervalMs: 10_000, timeoutMs: 3000 },
  }),
  codec: (_sdk, journal) => ({
    stateCodec: { encode: (state) => `plain:${state}`, decode: (text) => text.slice("plain:".length) },
    acceptState: (_id, untilMs) => journal.saw("state", { untilMs }) ?? true,
  }),
  "state-once": () => ({ acceptState: () => false }),
  deprecated: () => ({ warnDeprecated: true, http: { sse: true } }),
};

/**
 * Creates a server of a kind, with a clock that only scripts advance.
 * @param {Record<string, any>} sdk
 * @param {string} kind
 * @param {import("./journal.mjs").Journal} journal
 */
export function createServer(sdk, kind, journal) {
  const clock = new sdk.FakeClock();
  let release;
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  const McpServer = kind === "modern-entry" ? sdk.ModernMcpServer : sdk.McpServer;
  const options = { clock, warnDeprecated: false, ...journal.options, ...KINDS[kind](sdk, journal) };
  const server = new McpServer(INFO, options);
  if (kind !== "bare" && kind !== "no-capabilities") define(server, sdk, { journal, gate });
  if (kind === "extended") extend(server, sdk, journal);
  if (kind === "intercepted") server.use(createInterceptor(sdk, journal, "second"));
  return {
    server,
    clock,
    act: (action) => {
      try {
        act(server, clock, release, action);
      } catch (error) {
        journal.saw("author fails", error);
      }
    },
  };
}

/** Runs an action of the server's author. */
function act(server, clock, release, action) {
  const [verb, ...args] = Array.isArray(action) ? action : [action];
  const acts = {
    advance: () => clock.advance(args[0]),
    release: () => release(),
    tools: () => server.changes.toolsChanged(),
    prompts: () => server.changes.promptsChanged(),
    resources: () => server.changes.resourcesChanged(),
    updated: () => server.changes.resourceUpdated(args[0]),
    log: () => server.log(args[0], args[1], args[2]),
    define: () => server.tool("added", { description: "added later" }, () => "added"),
    remove: () => server.removeTool(args[0]),
    rename: () => server.edit.tool(args[0]).update({ description: "changed" }),
    disable: () => server.edit.tool(args[0]).disable(),
    enable: () => server.edit.tool(args[0]).enable(),
    completed: () => server.elicitationCompleted(args[0]),
    drain: () => void server.drain(args[0]),
    close: () => void server.close(),
  };
  return acts[verb]();
}

function extend(server, { ServerExtension }, journal) {
  const object = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  server.method("com.example/double", { params: object, nameFrom: "n" }, ({ n }) => ({ doubled: n * 2 }));
  server.method("com.example/needs", { requires: { sampling: {} } }, () => ({ ok: true }));
  server.method("com.example/broken", {}, () => {
    throw new Error("method is broken");
  });
  server.onNotification("com.example/heard", { params: object }, (params) => journal.saw("heard", params));
  server.onNotification(({ method, params }) => journal.saw("other notification", { method, params: params ?? null }));
  server.extend(
    createExtension(ServerExtension, "com.example/jobs", { settings: { most: 3 }, results: { job: "tools/call" } })
      .method("jobs/get", {}, (params) => ({ job: params?.id ?? null }))
      .onNotification("jobs/heard", {}, (params) => journal.saw("jobs/heard", params ?? null))
      .topic("jobs", (wanted) => ({
        honoured: wanted,
        start(send) {
          send("jobs/changed", { wanted });
          return () => journal.saw("topic ends");
        },
      }))
      .use(async (call, next) => (call.params?.name === "echo" ? { resultType: "job", job: "j-1" } : next(call))),
  );
}

/** Creates an extension. Builds of 0.1.0 take the identifier apart from the options. */
function createExtension(ServerExtension, id, options) {
  try {
    return new ServerExtension({ id, ...options });
  } catch {
    return new ServerExtension(id, options);
  }
}

function createInterceptor({ RpcError }, journal, name) {
  return async (call, next) => {
    journal.saw(`${name} before`, { method: call.method, id: call.id });
    if (call.params?.name === "rpc-error" && name === "first") throw new RpcError(-32_060, "intercepted");
    try {
      const result = await next(call);
      journal.saw(`${name} after`);
      return result;
    } catch (error) {
      journal.saw(`${name} failed`, error);
      throw error;
    }
  };
}

function createGate(journal) {
  return (exchange) => {
    const key = exchange.header("x-key");
    journal.saw("gate", { method: exchange.method, url: exchange.url, key: key ?? null });
    if (key === undefined) return { status: 401, headers: { "www-authenticate": "Key" }, body: "no key" };
    if (key === "broken") throw new Error("gate is broken");
    if (key === "reported") return { status: 403, error: new Error("for the log") };
    return {
      auth: { key, scopes: key.split("+") },
      principal: key,
      headers: { "x-gate": "passed" },
      lifeMs: key === "short" ? 1000 : undefined,
    };
  };
}

const TOKENS = {
  good: {
    scopes: ["read"],
    audience: RESOURCE,
    expiresAt: NOW / 1000 + 60,
    subject: "s-1",
    clientId: "c-1",
    issuer: ISSUER,
  },
  admin: {
    scopes: ["read", "admin", "write"],
    audience: RESOURCE,
    expiresAt: NOW / 1000 + 60,
    subject: "s-2",
    clientId: "c-1",
  },
  narrow: { scopes: [], audience: RESOURCE, expiresAt: NOW / 1000 + 60 },
  old: { scopes: ["read"], audience: RESOURCE, expiresAt: NOW / 1000 - 60 },
  other: { scopes: ["read"], audience: "https://other.example.com", expiresAt: NOW / 1000 + 60 },
  endless: { scopes: ["read"], audience: [RESOURCE] },
};

/** Creates the validator. In builds of 0.1.0 the export is the validator itself. */
const createValidator = ({ jsonSchemaValidator: made }) => (typeof made === "function" ? made() : made);

function createProtection({ protect, InvalidTokenError }, more = {}) {
  return protect({
    verify: async (token) => {
      if (token === "refused") throw new InvalidTokenError("token is refused");
      if (token === "broken") throw new Error("verifier is broken");
      return TOKENS[token] === undefined ? undefined : { token, ...TOKENS[token] };
    },
    resource: RESOURCE,
    authorizationServers: [ISSUER],
    scopes: ["read"],
    scopesFor: ({ method, params }) => (method === "tools/call" && params?.name === "add" ? ["write"] : undefined),
    name: "Oracle",
    now: () => NOW,
    ...more,
  });
}

/** Creates an event log of the author's own, whose methods return promises. */
function createEventLog(journal) {
  const rows = [];
  return {
    async append(sessionId, streamId, data) {
      rows.push({ sessionId, streamId, data, id: `e${rows.length}` });
      return `e${rows.length - 1}`;
    },
    async find(sessionId, id) {
      return rows.find((row) => row.sessionId === sessionId && row.id === id)?.streamId;
    },
    async readAfter(sessionId, streamId, id) {
      const at = rows.findIndex((row) => row.id === id);
      return rows.slice(at + 1).filter((row) => row.sessionId === sessionId && row.streamId === streamId);
    },
    drop: () => journal.saw("log is dropped"),
  };
}
