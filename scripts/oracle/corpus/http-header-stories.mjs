import { getStream, handshake, LEGACY, legacyRequest, modernPost } from "./requests.mjs";

/** Returns scripts about headers that repeat members of the body. */
export function headerStories() {
  const values = ["eu", "us", "=?base64?ZXU=?=", "=?base64?!!?=", "", " eu ", "EU", ["eu", "eu"], undefined];
  const region = (args, headers) => modernPost("tools/call", { name: "region", arguments: args }, { headers });
  return [
    ...values.map((value) => [
      `param region ${value}`,
      "plain",
      [region({ region: "eu" }, { "mcp-param-region": value }), region({}, { "mcp-param-region": value })],
    ]),
    ...["42", "42.0", "4.2e1", "x", "043"].map((value) => [
      `param count ${value}`,
      "plain",
      [region({ region: "eu", count: 42 }, { "mcp-param-region": "eu", "mcp-param-count": value })],
    ]),
    [
      "names",
      "plain",
      ["echo", "ECHO", "=?base64?ZWNobw==?=", "", "add", undefined].map((name, id) =>
        modernPost("tools/call", { name: "echo", arguments: { text: "t" } }, { id, headers: { "mcp-name": name } }),
      ),
    ],
    [
      "names of resources",
      "plain",
      ["note://first", "note://First", undefined].map((name, id) =>
        modernPost("resources/read", { uri: "note://first" }, { id, headers: { "mcp-name": name } }),
      ),
    ],
    [
      "methods in headers",
      "plain",
      ["tools/list", "Tools/List", "ping", "", undefined].map((name, id) =>
        modernPost("tools/list", {}, { id, headers: { "mcp-method": name } }),
      ),
    ],
    [
      "versions in headers",
      "plain",
      ["2026-07-28", "2025-11-25", "2025-03-26", "1.0", "", "2026-07-28, 2026-07-28", undefined].map((value, id) =>
        modernPost("tools/list", {}, { id, headers: { "mcp-protocol-version": value } }),
      ),
    ],
  ];
}

/** Returns scripts that need exact bytes on a socket. */
export function socketStories() {
  const good = modernPost("tools/call", { name: "echo", arguments: { text: "t" } });
  const with_ = (headers) => ({ ...good, headers: { ...good.headers, ...headers } });
  const text = JSON.stringify(good.body);
  const raw = (head, body = text) => ({
    raw: `POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${head}\r\n\r\n${body}`,
  });
  const usual =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo";
  const chunk = (body) => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const steps = {
    good,
    "host twice": with_({ host: ["localhost", "evil.com"] }),
    "type twice": with_({ "content-type": ["application/json", "text/plain"] }),
    "accept twice": with_({ accept: ["application/json", "text/event-stream"] }),
    "version twice": with_({ "mcp-protocol-version": ["2026-07-28", "2025-11-25"] }),
    "method twice": with_({ "mcp-method": ["tools/call", "tools/call"] }),
    "name twice": with_({ "mcp-name": ["echo", "add"] }),
    "latin header": with_({ "mcp-name": "é" }),
    "other case": {
      ...good,
      headers: Object.fromEntries(Object.entries(good.headers).map(([name, value]) => [name.toUpperCase(), value])),
    },
    chunked: raw(`${usual}\r\ntransfer-encoding: chunked`, chunk(text)),
    "no length": raw(usual, ""),
    "not utf-8": raw(`${usual}\r\ncontent-length: 4`, '"\xff\xfe"'),
    "half a character": raw(`${usual}\r\ncontent-length: 3`, '"\xe2"'),
    "other path": { ...good, url: "/none" },
    "with a query": { ...good, url: "/mcp?x=1" },
    absolute: { ...good, url: "http://localhost/mcp" },
    head: { method: "HEAD", headers: {} },
    options: { method: "OPTIONS", headers: { origin: "http://localhost" } },
  };
  return Object.entries(steps)
    .flatMap(([name, step]) =>
      ["plain", "cors", "small"].map((kind) => [`socket ${name} on ${kind}`, kind, [step], "node"]),
    )
    .concat([
      [
        "socket listen",
        "plain",
        [{ ...modernPost("subscriptions/listen", { notifications: { toolsListChanged: true } }), open: 1 }],
        "node",
      ],
      [
        "socket get stream",
        "plain",
        [
          ...handshake(LEGACY[0]),
          {
            ...getStream(),
            method: "GET",
            headers: { ...getStream().headers, accept: "application/json" },
            open: undefined,
          },
        ],
        "node",
      ],
      [
        "socket resume",
        "resumable",
        [
          ...handshake(LEGACY[0]),
          legacyRequest("tools/call", { name: "progress", _meta: { progressToken: 1 } }),
          {
            ...getStream({ headers: { "last-event-id": "{{event}}" } }),
            open: undefined,
            headers: { ...getStream().headers, "last-event-id": "none" },
          },
        ],
        "node",
      ],
      [
        "socket documents",
        "guarded",
        [{ method: "GET", url: "/.well-known/oauth-protected-resource/mcp", headers: {} }],
        "node",
      ],
    ]);
}
