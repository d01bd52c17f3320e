import { getStream, handshake, LEGACY, legacyRequest, modernPost } from "./requests.mjs";

/** Returns scripts about gates: tokens, keys, and the documents of a protected server. */
export function gateStories() {
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

/** Returns scripts about origins, hosts and preflight requests. */
export function browserStories() {
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
