import { ALL_CAPABILITIES, getStream, handshake, LEGACY, legacyPost, legacyRequest, modernPost } from "./requests.mjs";

/** Returns scripts about limits of time, size and number. */
export function limitStories() {
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
