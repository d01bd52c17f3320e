import { ANSWERS, ASKING } from "./catalogue.mjs";
import { httpLimitStories } from "./http-limit-stories.mjs";
import {
  ALL_CAPABILITIES,
  getStream,
  handshake,
  INITIALIZED,
  initializeMessage,
  LEGACY,
  legacyPost,
  legacyRequest,
  modernPost,
} from "./requests.mjs";

/** Scripts of several requests that belong together, written by hand. */
export function httpStories() {
  const stories = [
    ...questions(),
    ...streams(),
    ...subscriptions(),
    ...batches(),
    ...oldTransport(),
    ...httpLimitStories(),
  ];
  return stories.map(([name, server, steps, wire = "handle"]) => ({ name: `http story ${name}`, server, wire, steps }));
}

const capabilities = ALL_CAPABILITIES;
const call = (name, more) => legacyRequest("tools/call", { name, arguments: {} }, more);
const say = (message, version) => legacyPost({ jsonrpc: "2.0", ...message }, { version });

/** What handlers ask, answered in each way. */
function questions() {
  const stories = [];
  for (const tool of ASKING) {
    for (const [way, answer] of Object.entries(ANSWERS)) {
      const version = LEGACY[(tool.length + way.length) % 4];
      const reply = say({ id: "{{question}}", ...answer }, version);
      stories.push([
        `${version} ${tool} ${way}`,
        tool.length % 2 ? "plain" : "resumable",
        [...handshake(version, capabilities), call(tool, { version }), reply, reply],
      ]);
      const given = answer.result ?? answer;
      const inputResponses = { "{{key0}}": given, ...(tool === "ask-both" && { "{{key1}}": given }) };
      const again = { name: tool, arguments: {}, inputResponses, requestState: "{{state}}" };
      const first = modernPost("tools/call", { name: tool, arguments: {} }, { capabilities });
      const second = modernPost("tools/call", again, { capabilities, id: 2 });
      stories.push([`modern ${tool} ${way}`, "plain", [first, second, { ...second, body: { ...second.body, id: 3 } }]]);
    }
  }
  const ask = modernPost("tools/call", { name: "steps", arguments: {} }, { capabilities });
  const answered = (more, changes) =>
    modernPost(
      "tools/call",
      {
        name: "steps",
        arguments: {},
        inputResponses: { "{{key0}}": ANSWERS.accept.result },
        requestState: "{{state}}",
        ...more,
      },
      { capabilities, id: 2, ...changes },
    );
  for (const kind of ["plain", "codec", "state-once", "limits", "options", "modern-entry", "mode-sse"]) {
    stories.push([`state on ${kind}`, kind, [ask, answered()]]);
    stories.push([`state too late on ${kind}`, kind, [ask, { act: ["advance", 700_000] }, answered()]]);
    stories.push([
      `state of others on ${kind}`,
      kind,
      [
        ask,
        answered({ arguments: { a: 1 } }),
        answered({ name: "ask" }),
        answered({ requestState: "forged" }),
        answered({ requestState: 5 }),
        answered({ inputResponses: undefined }),
        answered({ inputResponses: { other: {} } }),
      ],
    ]);
  }
  const prompt = modernPost("prompts/get", { name: "asking" }, { capabilities });
  const which = { "{{key0}}": { action: "accept", content: { which: "x" } } };
  stories.push([
    "a prompt asks",
    "plain",
    [
      prompt,
      modernPost(
        "prompts/get",
        { name: "asking", inputResponses: which, requestState: "{{state}}" },
        { capabilities, id: 2 },
      ),
    ],
  ]);
  stories.push([
    "a prompt asks 2025-06-18",
    "plain",
    [
      ...handshake("2025-06-18", capabilities),
      legacyRequest("prompts/get", { name: "asking" }),
      say({ id: "{{question}}", result: which["{{key0}}"] }),
    ],
  ]);
  stories.push([
    "a question runs out of time",
    "limits",
    [
      ...handshake(LEGACY[0], capabilities),
      call("ask"),
      call("ask-soon", { id: 2 }),
      { act: ["advance", 600] },
      { act: ["advance", 2000] },
      say({ id: "{{question}}", ...ANSWERS.accept }),
    ],
  ]);
  stories.push([
    "a question on the GET stream",
    "prefer-json",
    [...handshake(LEGACY[1], capabilities), getStream(), call("ask"), say({ id: "{{question}}", ...ANSWERS.accept })],
  ]);
  return stories;
}

/** Sessions, the GET stream, resumption, cancellation. */
function streams() {
  const stories = [];
  for (const version of LEGACY) {
    const open = handshake(version, capabilities);
    const changes = [
      "tools",
      "prompts",
      "resources",
      ["updated", "note://first"],
      ["log", "info", { a: 1 }, "l"],
      "define",
      ["remove", "echo"],
    ];
    const acts = changes.map((act) => ({ act }));
    stories.push([
      `changes ${version}`,
      "plain",
      [
        ...open,
        getStream({ version }),
        legacyRequest("resources/subscribe", { uri: "note://first" }, { version }),
        ...acts,
        legacyRequest("resources/unsubscribe", { uri: "note://first" }, { version, id: 2 }),
        { act: ["updated", "note://first"] },
      ],
    ]);
    stories.push([
      `changes before the stream ${version}`,
      "resumable",
      [...open, ...acts, getStream({ version }), ...acts],
    ]);
    stories.push([
      `delete ${version}`,
      "hooks",
      [
        ...open,
        getStream({ version }),
        { ...getStream({ version }), method: "DELETE" },
        call("echo", { version }),
        { ...getStream({ version }), method: "DELETE" },
      ],
    ]);
    stories.push([
      `cancel ${version}`,
      "plain",
      [
        ...open,
        call("wait", { version, id: 5 }),
        say({ method: "notifications/cancelled", params: { requestId: 5, reason: "enough" } }, version),
        say({ method: "notifications/cancelled", params: { requestId: 5 } }, version),
      ],
    ]);
    stories.push([
      `cancel a question ${version}`,
      "plain",
      [
        ...open,
        call("ask", { version, id: 5 }),
        say({ method: "notifications/cancelled", params: { requestId: 5 } }, version),
      ],
    ]);
    stories.push([
      `leave a call ${version}`,
      "plain",
      [...open, call("wait", { version }), { leave: 2 }, { act: "release" }],
    ]);
    stories.push([
      `ids in use ${version}`,
      "plain",
      [
        ...open,
        call("wait", { version, id: 5 }),
        call("echo", { version, id: 5 }),
        { act: "release" },
        call("value", { version, id: 5 }),
      ],
    ]);
    stories.push([
      `time runs out ${version}`,
      "plain",
      [...open, call("slow", { version }), { act: ["advance", 999] }, { act: ["advance", 2] }],
    ]);
    stories.push([
      `one at a time ${version}`,
      "plain",
      [...open, call("single", { version, id: 1 }), call("single", { version, id: 2 }), { act: "release" }],
    ]);
    stories.push([
      `levels ${version}`,
      "options",
      [
        ...open,
        legacyRequest("logging/setLevel", { level: "error" }, { version }),
        call("log", { version, id: 2 }),
        legacyRequest("logging/setLevel", { level: "debug" }, { version, id: 3 }),
        call("log", { version, id: 4 }),
      ],
    ]);
    stories.push([
      `progress ${version}`,
      "plain",
      [
        ...open,
        legacyRequest("tools/call", { name: "progress", _meta: { progressToken: "p" } }, { version }),
        legacyRequest("tools/call", { name: "generate", _meta: { progressToken: 0 } }, { version, id: 2 }),
      ],
    ]);
    stories.push([
      `pages ${version}`,
      "options",
      [
        ...open,
        legacyRequest("tools/list", {}, { version }),
        legacyRequest("tools/list", { cursor: "{{cursor}}" }, { version, id: 2 }),
        { act: ["remove", "echo"] },
        legacyRequest("tools/list", { cursor: "{{cursor}}" }, { version, id: 3 }),
      ],
    ]);
    for (const kind of ["resumable", "event-log"]) {
      const resume = getStream({ version, headers: { "last-event-id": "{{event}}" } });
      const first = legacyRequest("tools/call", { name: "progress", _meta: { progressToken: "p" } }, { version });
      stories.push([`resume ${kind} ${version}`, kind, [...open, first, resume]]);
      stories.push([
        `resume a lost call ${kind} ${version}`,
        kind,
        [...open, call("wait", { version }), { leave: 2 }, resume, { act: "release" }],
      ]);
      stories.push([
        `resume a detached call ${kind} ${version}`,
        kind,
        [...open, call("detach", { version }), resume, { act: "release" }],
      ]);
      stories.push([
        `resume from nowhere ${kind} ${version}`,
        kind,
        [...open, getStream({ version, headers: { "last-event-id": "nowhere" } })],
      ]);
      stories.push([
        `resume the stream ${kind} ${version}`,
        kind,
        [...open, getStream({ version }), { act: "tools" }, { leave: 2 }, { act: "prompts" }, resume, { act: "tools" }],
      ]);
    }
    stories.push([
      `two streams ${version}`,
      "plain",
      [...open, getStream({ version }), getStream({ version }), { act: "tools" }],
    ]);
    stories.push([
      `not acceptable ${version}`,
      "plain",
      [
        ...open,
        getStream({ version, headers: { accept: "application/json" } }),
        legacyRequest("ping", undefined, { version, headers: { accept: "text/html" } }),
      ],
    ]);
    stories.push([
      `before initialized ${version}`,
      "plain",
      [open[0], call("echo", { version }), getStream({ version }), open[1]],
    ]);
    stories.push([
      `initialize twice ${version}`,
      "plain",
      [...open, legacyPost(initializeMessage(version), { version }), open[0]],
    ]);
    stories.push([
      `other version ${version}`,
      "plain",
      [
        ...open,
        legacyRequest("ping", {}, { version: "2025-06-18" }),
        legacyRequest("ping", {}, { version: "1999-01-01" }),
      ],
    ]);
    stories.push([
      `without a session ${version}`,
      "plain",
      [
        legacyRequest("tools/list", {}, { version, headers: { "mcp-session-id": undefined } }),
        legacyRequest("tools/list", {}, { version, headers: { "mcp-session-id": "none" } }),
      ],
    ]);
  }
  for (const version of ["2099-01-01", "", "2024-10-07", "2026-07-28", 5]) {
    stories.push([
      `initialize at ${version}`,
      "plain",
      [{ ...handshake(LEGACY[0])[0], body: initializeMessage(version) }],
    ]);
    stories.push([
      `initialize at ${version} on old`,
      "two-versions",
      [{ ...handshake(LEGACY[0])[0], body: initializeMessage(version) }],
    ]);
  }
  return stories;
}

function subscriptions() {
  const filter = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["note://first", "none://x"],
  };
  const listen = (notifications, more) => modernPost("subscriptions/listen", { notifications }, { id: "sub", ...more });
  const acts = [
    "tools",
    "prompts",
    "resources",
    ["updated", "note://first"],
    ["updated", "none://x"],
    ["updated", "blob://one"],
    "define",
    ["disable", "add"],
    ["enable", "add"],
    ["rename", "add"],
  ].map((act) => ({ act }));
  const stories = ["plain", "options", "hooks", "modern-entry", "mode-sse", "mode-json", "limits", "bare"].flatMap(
    (kind) => [
      [
        `listen on ${kind}`,
        kind,
        [listen(filter), ...(kind === "bare" ? acts.slice(0, 4) : acts), { leave: 0 }, { act: "tools" }],
      ],
      [
        `listen and close on ${kind}`,
        kind,
        [listen(filter), listen({ toolsListChanged: true }, { id: 2 }), { act: "tools" }, { act: "close" }],
      ],
      [
        `listen for long on ${kind}`,
        kind,
        [listen(filter), { act: ["advance", 16_000] }, { act: ["advance", 20_000] }],
      ],
    ],
  );
  stories.push([
    "listen to a topic",
    "extended",
    [listen({ jobs: ["a"] }, { capabilities }), listen({ jobs: ["a"] }, { id: 2 }), { leave: 0 }],
  ]);
  stories.push([
    "modern calls that wait",
    "plain",
    [
      modernPost("tools/call", { name: "wait" }),
      modernPost("tools/call", { name: "slow" }, { id: 2 }),
      { leave: 0 },
      { act: ["advance", 1001] },
    ],
  ]);
  stories.push([
    "modern release",
    "plain",
    [
      modernPost("tools/call", { name: "wait" }, { meta: { progressToken: 1 } }),
      modernPost("tools/call", { name: "single" }, { id: 2 }),
      modernPost("tools/call", { name: "single" }, { id: 3 }),
      { act: "release" },
    ],
  ]);
  stories.push([
    "modern silence",
    "small",
    [
      modernPost("tools/call", { name: "wait" }),
      { act: ["advance", 1000] },
      { act: ["advance", 1000] },
      { act: "release" },
    ],
  ]);
  stories.push([
    "modern drain",
    "plain",
    [
      modernPost("tools/call", { name: "wait" }),
      { act: ["drain", 1000] },
      modernPost("tools/list"),
      { act: "release" },
    ],
  ]);
  stories.push([
    "modern close",
    "plain",
    [modernPost("tools/call", { name: "wait" }), { act: "close" }, modernPost("tools/list")],
  ]);
  return stories;
}

function batches() {
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

/** The HTTP+SSE transport of 2024-11-05. */
function oldTransport() {
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
