import { ALL_CAPABILITIES, getStream, handshake, LEGACY, legacyPost, legacyRequest, modernPost } from "./requests.mjs";

/** Scripts about who may come in, and about bounds. */
export function httpLimitStories() {
  return [...gates(), ...browsers(), ...bounds(), ...paramHeaders(), ...bareSockets()];
}

function gates() {
  const tokens = ["good", "admin", "narrow", "old", "other", "endless", "refused", "broken", "none"];
  const values = [
    ...tokens.map((token) => `Bearer ${token}`),
    "bearer good",
    "Bearer",
    "Bearer  good",
    "Basic Z29vZA==",
    "Bearer good, Bearer admin",
    "good",
    undefined,
  ];
  const calls = [
    ["tools/list", {}],
    ["tools/call", { name: "facts" }],
    ["tools/call", { name: "admin" }],
    ["tools/call", { name: "add", arguments: { a: 1 } }],
  ];
  const stories = values.flatMap((authorization) =>
    ["guarded", "guarded-loose"].flatMap((kind) => {
      const headers = { authorization };
      return [
        [
          `modern ${authorization} on ${kind}`,
          kind,
          calls.map(([method, params], id) => modernPost(method, params, { headers, id })),
        ],
        [
          `legacy ${authorization} on ${kind}`,
          kind,
          [
            ...handshake(LEGACY[1], {}, headers),
            ...calls.map(([method, params], id) => legacyRequest(method, params, { headers, id })),
            getStream({ headers }),
          ],
        ],
      ];
    }),
  );
  const paths = [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
  ];
  for (const url of paths) {
    const steps = ["GET", "HEAD", "OPTIONS", "POST"].map((method) => ({
      method,
      url,
      headers: { origin: "https://app.example.com" },
    }));
    stories.push(
      [`documents at ${url}`, "guarded", steps.map((step) => ({ ...step, headers: {} }))],
      [`documents for pages at ${url}`, "guarded-loose", steps],
    );
  }
  const keyed = (key) => ({ headers: { "x-key": key } });
  const [first, second] = handshake(LEGACY[0], {}, { "x-key": "ada" });
  stories.push([
    "session of another",
    "gate",
    [
      first,
      second,
      legacyRequest("ping", {}, keyed("ada")),
      legacyRequest("ping", {}, keyed("eve")),
      getStream(keyed("eve")),
      { ...getStream(keyed("eve")), method: "DELETE" },
    ],
  ]);
  stories.push([
    "admission ends",
    "gate",
    [
      ...handshake(LEGACY[0], {}, { "x-key": "short" }),
      getStream(keyed("short")),
      modernPost("subscriptions/listen", { notifications: { toolsListChanged: true } }, keyed("short")),
      { act: "tools" },
      { act: ["advance", 1001] },
    ],
  ]);
  for (const key of [undefined, "broken", "reported", "admin", "read+admin"]) {
    stories.push([
      `key ${key}`,
      "gate",
      [
        modernPost("tools/call", { name: "admin" }, keyed(key)),
        modernPost("tools/list", {}, keyed(key)),
        modernPost("tools/call", { name: "facts" }, { headers: { "x-key": key, "x-test": "seen" } }),
      ],
    ]);
  }
  return stories;
}

function browsers() {
  const origins = [
    "https://app.example.com",
    "https://evil.example.com",
    "http://localhost:3000",
    "null",
    "",
    "https://app.example.com.evil.org",
    "HTTPS://APP.EXAMPLE.COM",
  ];
  const hosts = [
    "localhost",
    "localhost:80",
    "api.example.com",
    "a.example.org",
    "example.org",
    "evil.com",
    "127.0.0.1:1",
    "[::1]:8",
    "api.example.com.",
    "",
    "a b",
    undefined,
  ];
  const preflight = (origin, method, asked) => ({
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": method, "access-control-request-headers": asked },
  });
  return ["plain", "cors", "hosts", "open"].flatMap((kind) => [
    ...origins.map((origin) => [
      `origin ${origin} on ${kind}`,
      kind,
      [
        modernPost("tools/list", {}, { headers: { origin, ...(kind === "hosts" && { host: "api.example.com" }) } }),
        preflight(origin, "POST", "content-type,mcp-method,mcp-param-region"),
        preflight(origin, "DELETE", "x-other"),
        preflight(origin, undefined, undefined),
        ...handshake(LEGACY[0], {}, { origin }),
      ],
    ]),
    ...hosts.map((host) => [
      `host ${host} on ${kind}`,
      kind,
      [modernPost("tools/list", {}, { headers: { host } }), { method: "GET", headers: { host } }],
    ]),
  ]);
}

function bounds() {
  const long = "x".repeat(700);
  const version = LEGACY[0];
  const open = () => handshake(version);
  return [
    [
      "bodies too large",
      "small",
      [
        modernPost("tools/call", { name: "echo", arguments: { text: long } }),
        ...open(),
        legacyRequest("tools/call", { name: "echo", arguments: { text: long } }),
      ],
    ],
    [
      "sessions too many",
      "small",
      [...open(), ...open(), ...open(), { act: ["advance", 5001] }, ...open(), legacyRequest("ping")],
    ],
    [
      "sessions that idle",
      "small",
      [
        ...open(),
        { act: ["advance", 4000] },
        legacyRequest("ping"),
        { act: ["advance", 4000] },
        legacyRequest("ping", {}, { id: 2 }),
        { act: ["advance", 5001] },
        legacyRequest("ping", {}, { id: 3 }),
      ],
    ],
    [
      "streams that idle",
      "small",
      [
        ...open(),
        getStream(),
        { act: ["advance", 1000] },
        { act: ["advance", 1000] },
        { act: ["advance", 9000] },
        { act: "tools" },
      ],
    ],
    [
      "clients may not",
      "no-get",
      [...open(), getStream(), { ...getStream(), method: "DELETE" }, legacyRequest("ping")],
    ],
    [
      "progress too often",
      "limits",
      [
        modernPost("tools/call", { name: "progress" }, { meta: { progressToken: 1 } }),
        ...handshake(version),
        legacyRequest("tools/call", { name: "progress", _meta: { progressToken: 2 } }),
        { act: ["advance", 1001] },
      ],
    ],
    [
      "pings",
      "limits",
      [
        ...open(),
        getStream(),
        { act: ["advance", 10_000] },
        legacyPost({ jsonrpc: "2.0", id: "{{question}}", result: {} }),
        { act: ["advance", 10_000] },
        { act: ["advance", 3001] },
      ],
    ],
    [
      "drain",
      "plain",
      [
        ...open(),
        legacyRequest("tools/call", { name: "wait" }),
        getStream(),
        { act: ["drain", 1000] },
        legacyRequest("ping", {}, { id: 2 }),
        ...open(),
        { act: ["advance", 1001] },
      ],
    ],
    [
      "close",
      "hooks",
      [
        ...open(),
        legacyRequest("tools/call", { name: "wait" }),
        getStream(),
        { act: "close" },
        legacyRequest("ping", {}, { id: 2 }),
      ],
    ],
    ["author closes", "resumable", [...open(), legacyRequest("tools/call", { name: "ask" }), { act: "close" }]],
    [
      "completed",
      "plain",
      [
        ...handshake(version, ALL_CAPABILITIES),
        getStream(),
        legacyRequest("tools/call", { name: "ask-url" }),
        { act: ["completed", "e-2"] },
        { act: ["completed", "none"] },
      ],
    ],
    [
      "one version",
      "one-version",
      LEGACY.flatMap((other) => handshake(other)).concat(modernPost("tools/list"), modernPost("server/discover")),
    ],
    [
      "wrong methods",
      "plain",
      ["PUT", "PATCH", "GET", "DELETE", "HEAD", "OPTIONS"].map((method) => ({ ...modernPost("tools/list"), method })),
    ],
    [
      "wrong methods on modern",
      "modern-entry",
      ["PUT", "GET", "DELETE", "OPTIONS"].map((method) => ({ ...modernPost("tools/list"), method })).concat(open()),
    ],
  ];
}

function paramHeaders() {
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

/** What only bytes on a socket can show. */
function bareSockets() {
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
