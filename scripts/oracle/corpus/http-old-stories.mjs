import { ANSWERS } from "./catalogue.mjs";
import {
  ALL_CAPABILITIES,
  handshake,
  INITIALIZED,
  initializeMessage,
  LEGACY,
  legacyPost,
  modernPost,
} from "./requests.mjs";

const capabilities = ALL_CAPABILITIES;

/** Returns scripts about batches, in versions that have them and in others. */
export function batchStories() {
  const request = (id, method, params) => ({ jsonrpc: "2.0", id, method, ...(params && { params }) });
  const bodies = {
    two: [request(1, "ping"), request(2, "tools/list", {})],
    mixed: [
      request(1, "tools/call", { name: "progress", _meta: { progressToken: 1 } }),
      INITIALIZED,
      request(2, "none"),
    ],
    notifications: [INITIALIZED, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }],
    wrong: [1, {}, request(1, "ping"), { jsonrpc: "1.0", id: 2, method: "ping" }],
    same: [request(1, "ping"), request(1, "ping")],
    empty: [],
    initialize: [initializeMessage("2025-03-26"), request(1, "ping")],
    asking: [
      request(1, "tools/call", { name: "ask" }),
      request(2, "tools/call", { name: "echo", arguments: { text: "t" } }),
    ],
    answers: [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, error: { code: 1, message: "no" } },
    ],
  };
  return Object.entries(bodies).flatMap(([name, body]) => [
    ...LEGACY.map((version) => [
      `batch ${name} ${version}`,
      "plain",
      [...handshake(version, capabilities), legacyPost(body, { version })],
    ]),
    [`batch ${name} json`, "prefer-json", [...handshake("2025-03-26", capabilities), legacyPost(body)]],
    [`batch ${name} without sessions`, "no-sessions", [legacyPost(body, { headers: { "mcp-session-id": undefined } })]],
    [`batch ${name} modern`, "plain", [{ ...modernPost("ping"), body }]],
  ]);
}

/** Returns scripts for the HTTP+SSE transport of 2024-11-05. */
export function oldTransportStories() {
  const stream = (url, headers) => ({
    method: "GET",
    url,
    headers: { accept: "text/event-stream", ...headers },
    open: 1,
  });
  const post = (body, headers) => ({
    method: "POST",
    url: "{{endpoint}}",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  const start = (url) => [stream(url), post(initializeMessage("2024-11-05", capabilities)), post(INITIALIZED)];
  const request = (id, method, params) => post({ jsonrpc: "2.0", id, method, params });
  return ["sse", "sse-paths", "deprecated"].flatMap((kind) => {
    const url = kind === "sse-paths" ? "/old/sse" : "/sse";
    return [
      [
        `sse calls on ${kind}`,
        kind,
        [
          ...start(url),
          request(1, "tools/list", {}),
          request(2, "tools/call", { name: "progress", _meta: { progressToken: 1 } }),
          request(3, "none"),
          request(4, "tools/call", { name: "ask" }),
          post({ jsonrpc: "2.0", id: "{{question}}", ...ANSWERS.accept }),
        ],
      ],
      [`sse batches on ${kind}`, kind, [...start(url), post([{ jsonrpc: "2.0", id: 1, method: "ping" }, INITIALIZED])]],
      [
        `sse faults on ${kind}`,
        kind,
        [
          ...start(url),
          post("{"),
          post("[]"),
          post({ jsonrpc: "2.0" }),
          post(INITIALIZED, { "content-type": "text/plain" }),
          { ...post(INITIALIZED), url: `${url}/none` },
          { ...post(INITIALIZED), url: "/messages?sessionId=none" },
          stream(url, { accept: "application/json" }),
          { ...stream(url), method: "POST" },
          { ...stream(url), method: "DELETE" },
        ],
      ],
      [
        `sse changes on ${kind}`,
        kind,
        [
          ...start(url),
          { act: "tools" },
          { act: ["log", "error", "bad"] },
          { act: ["advance", 16_000] },
          { leave: 0 },
          request(5, "ping"),
        ],
      ],
      [
        `sse close on ${kind}`,
        kind,
        [...start(url), request(1, "tools/call", { name: "wait" }), { act: "close" }, request(2, "ping")],
      ],
    ];
  });
}
