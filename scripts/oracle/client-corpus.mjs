import { clientFaults } from "./client-faults.mjs";
import { complete, discovered, initialized, openingOf, said } from "./client-words.mjs";
import { LEGACY, MODERN } from "./requests.mjs";

/** Where clients are tried: a wire, and the version that the server speaks. */
const WORLDS = ["http", "memory"].flatMap((wire) =>
  [MODERN, ...LEGACY].map((version) => ({ wire, version, isModern: version === MODERN })),
);

/** The scripts of clients. */
export function clientCorpus() {
  const scripts = WORLDS.flatMap((world) => [
    ...flawless(world),
    ...lives(world),
    ...questions(world),
    ...clientFaults(world),
  ]);
  return scripts.concat(openings()).map(({ name, ...script }, at) => ({
    name: `client ${at} ${name}`,
    url: `https://s${at}.example.com/mcp?key=1`,
    options: {},
    steps: [],
    ...script,
  }));
}

const script = (world, name, rules, steps, more) => ({
  name: `${world.wire} ${world.version} ${name}`,
  wire: world.wire,
  rules: [...rules, ...openingOf(world)],
  steps,
  ...more,
});

const CALL = { call: "callTool", args: ["echo", { text: "t" }], options: { onProgress: true } };
const TOOL = {
  name: "echo",
  inputSchema: { type: "object", properties: { text: { type: "string", "x-mcp-header": "Text" } } },
  outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
};

/** Every method of a client, answered well. */
function flawless(world) {
  const cached = { ttlMs: 60_000, cacheScope: "public" };
  const list = (member, items) => ({ result: complete(world, { [member]: items, ...(world.isModern && cached) }) });
  const rules = [
    { on: "tools/list", once: true, reply: { result: complete(world, { tools: [TOOL], nextCursor: "more" }) } },
    { on: "tools/list", reply: list("tools", [{ ...TOOL, name: "second" }]) },
    { on: "tools/call", once: true, reply: { result: complete(world, { content: [], structuredContent: { n: 1 } }) } },
    {
      on: "tools/call",
      once: true,
      reply: { result: complete(world, { content: [], structuredContent: { n: "x" } }) },
    },
    {
      on: "tools/call",
      once: true,
      reply: { result: complete(world, { content: [{ type: "text", text: "no" }], isError: true }) },
    },
    { on: "tools/call", reply: { result: said(world, "said") } },
    { on: "prompts/list", reply: list("prompts", [{ name: "greet" }]) },
    {
      on: "prompts/get",
      reply: { result: complete(world, { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] }) },
    },
    { on: "resources/list", reply: list("resources", [{ uri: "note://1", name: "one" }]) },
    {
      on: "resources/templates/list",
      reply: list("resourceTemplates", [{ uriTemplate: "note://{id}", name: "note" }]),
    },
    { on: "resources/read", reply: list("contents", [{ uri: "note://1", text: "one" }]) },
    {
      on: "completion/complete",
      reply: { result: complete(world, { completion: { values: ["Ada"], total: 1, hasMore: false } }) },
    },
    { on: "com.example/own", reply: { result: complete(world, { own: 1 }) } },
    ...["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"].map((on) => ({
      on,
      reply: { result: complete(world, {}) },
    })),
  ];
  const steps = [
    { call: "tools", options: {} },
    { call: "tools", options: {}, as: "tools again" },
    { call: "listTools", args: [undefined] },
    { call: "listTools", args: ["more"], as: "one page" },
    ...[1, 2, 3, 4].map((at) => ({ ...CALL, as: `call ${at}` })),
    {
      call: "callTool",
      args: ["second", { text: "é 😀" }],
      options: { meta: { "com.example/a": 1 }, id: "own-id" },
      as: "with meta",
    },
    { call: "callTool", args: ["unlisted"], as: "unlisted" },
    { call: "prompts" },
    { call: "getPrompt", args: ["greet", { name: "Ada" }] },
    { call: "resources" },
    { call: "resourceTemplates" },
    { call: "readResource", args: ["note://1"] },
    { call: "readResource", args: ["note://1"], as: "from the cache" },
    { call: "readResource", args: ["note://1"], options: { cache: "refresh" }, as: "refreshed" },
    { call: "readResource", args: ["note://{id}"], options: { variables: { id: "a b" } }, as: "by template" },
    { call: "complete", args: [{ type: "ref/prompt", name: "greet" }, { name: "name", value: "A" }, { a: "b" }] },
    { call: "ping" },
    { call: "setLogLevel", args: ["warning"] },
    { call: "discover" },
    { call: "request", args: ["com.example/own", { a: 1 }] },
    { call: "notify", args: ["com.example/told", { a: 1 }] },
    { call: "setRoots", args: [[{ uri: "file:///b" }]] },
    { call: "rootsChanged" },
  ];
  return [
    script(world, "all methods", rules, steps, { answering: "accept", intercepts: true }),
    script(world, "all methods, plainly", rules, steps, {
      options: { cache: false, identify: false, strictCapabilities: true, headers: { "x-own": "1" }, logLevel: "info" },
    }),
    script(
      world,
      "without capabilities",
      [
        {
          on: "server/discover",
          reply: world.isModern
            ? { result: discovered({ capabilities: {} }) }
            : { status: 404, error: { code: -32_601, message: "no" } },
        },
        { on: "initialize", reply: { result: initialized(world.version, { capabilities: {} }) } },
      ],
      steps.slice(0, 12),
      { options: { strictCapabilities: true } },
    ),
  ];
}

/** How calls and connections end. */
function lives(world) {
  const held = [
    { on: "tools/call", once: true, reply: { hold: true } },
    { on: "tools/call", reply: { result: said(world, "second") } },
  ];
  const again = { ...CALL, as: "again" };
  const progress = {
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: "{{token}}", progress: 1, total: 2, message: "half" },
  };
  const answer = { jsonrpc: "2.0", id: "{{id}}", result: said(world, "late") };
  const open =
    world.wire === "http"
      ? [{ on: "tools/call", once: true, reply: { sse: [progress], open: true } }]
      : [{ on: "tools/call", once: true, reply: { frames: [progress] } }];
  const push = (message) => ({ push: { event: message, frame: message } });
  const note = (method, params) => push({ jsonrpc: "2.0", method, params });
  const stories = [
    script(world, "cancel", held, [
      { ...CALL, options: { signal: true }, as: "a" },
      { abort: "a", reason: "enough" },
      again,
    ]),
    script(world, "cancel a stream", open, [
      { ...CALL, options: { signal: true, onProgress: true }, as: "a" },
      { abort: "a" },
      push(answer),
    ]),
    script(world, "silence", held, [{ ...CALL, as: "a" }, { advance: 59_999 }, { advance: 2 }, again]),
    script(world, "own limits", held, [{ ...CALL, options: { timeoutMs: 500 }, as: "a" }, { advance: 501 }, again], {
      options: { timeoutMs: 9000 },
    }),
    script(world, "progress keeps alive", open, [
      { ...CALL, options: { timeoutMs: 1000, deadlineMs: 2500, onProgress: true }, as: "a" },
      { advance: 900 },
      push(progress),
      { advance: 900 },
      push(progress),
      { advance: 800 },
    ]),
    script(world, "late answer", open, [
      { ...CALL, options: { timeoutMs: 1000, onProgress: true }, as: "a" },
      push(progress),
      push(answer),
      push(answer),
    ]),
    script(world, "close in a call", held, [{ ...CALL, as: "a" }, { call: "close" }, again]),
    script(world, "close while it streams", open, [{ ...CALL, as: "a" }, { call: "close" }]),
    script(world, "lost", open, [
      { ...CALL, as: "a" },
      { cut: {} },
      { advance: 1000 },
      { advance: 5000 },
      again,
      { advance: 60_000 },
    ]),
    script(
      world,
      "retry",
      [
        { on: "tools/call", once: true, reply: world.wire === "http" ? { fails: "refused" } : { cut: true } },
        { on: "tools/list", once: true, reply: world.wire === "http" ? { fails: "refused" } : { hold: true } },
        { on: "tools/list", reply: { result: complete(world, { tools: [] }) } },
      ],
      [{ ...CALL, as: "a" }, { call: "tools" }, { advance: 1000 }, { advance: 5000 }],
      { retries: { attempts: 3, delayMs: 100 } },
    ),
    script(
      world,
      "hears",
      open,
      [
        { ...CALL, as: "a" },
        note("notifications/message", { level: "info", data: "x" }),
        note("notifications/tools/list_changed"),
        note("com.example/told", { a: 1 }),
        note("notifications/message", { level: 5 }),
        push(answer),
        { advance: 1000 },
      ],
      { hears: true },
    ),
    script(
      world,
      "pings",
      [{ on: "ping", once: true, reply: { result: complete(world, {}) } }],
      [{ advance: 10_000 }, { advance: 10_000 }, { advance: 4000 }],
      { options: { pings: { intervalMs: 10_000, timeoutMs: 3000 } } },
    ),
    script(
      world,
      "many calls",
      [{ on: "tools/call", reply: { result: said(world, "many") } }],
      Array.from({ length: 12 }, (_one, at) => ({ ...CALL, as: `call ${at}` })),
    ),
    ...watches(world, note),
  ];
  return stories;
}

function watches(world, note) {
  const filter = { toolsListChanged: true, resources: ["note://1"] };
  const watch = { call: "watch", args: [filter], options: {}, as: "w" };
  const acknowledged = {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: {
      notifications: { toolsListChanged: true, resourceSubscriptions: ["note://1"] },
      _meta: { "io.modelcontextprotocol/subscriptionId": "{{id}}" },
    },
  };
  const tagged = (method, params) =>
    world.isModern
      ? note(method, { ...params, _meta: { "io.modelcontextprotocol/subscriptionId": "{{id}}" } })
      : note(method, params);
  const rules = [
    {
      on: "subscriptions/listen",
      reply: world.wire === "http" ? { sse: [acknowledged], open: true } : { frames: [acknowledged] },
    },
    { on: "resources/subscribe", reply: { result: {} } },
    { on: "resources/unsubscribe", reply: { result: {} } },
    { on: "GET", reply: { sse: [], open: true } },
  ];
  const changes = [
    tagged("notifications/tools/list_changed"),
    tagged("notifications/resources/updated", { uri: "note://1" }),
    tagged("notifications/resources/updated", { uri: "note://2" }),
    tagged("notifications/prompts/list_changed"),
  ];
  const graceful = { jsonrpc: "2.0", id: "{{id}}", result: complete(world, {}) };
  return [
    script(world, "watch", rules, [watch, ...changes, { unwatch: "w" }]),
    script(
      world,
      "watch to the end",
      rules,
      [watch, ...changes, { push: { event: graceful, frame: graceful } }, { finish: {} }].filter(
        ({ finish }) => finish === undefined || world.wire === "http",
      ),
    ),
    script(world, "watch that breaks", rules, [
      watch,
      changes[0],
      { cut: {} },
      { advance: 300 },
      { advance: 5000 },
      changes[1],
      { advance: 60_000 },
    ]),
    script(
      world,
      "watch that is refused",
      [
        { on: "subscriptions/listen", reply: { status: 400, error: { code: -32_602, message: "no" } } },
        { on: "resources/subscribe", reply: { error: { code: -32_602, message: "no" } } },
      ],
      [watch, { advance: 300 }],
    ),
    script(world, "watch once", rules, [
      { ...watch, options: { relisten: false, signal: true } },
      { cut: {} },
      { ...watch, as: "x", options: { signal: true } },
      { abort: "x" },
      { advance: 1000 },
    ]),
  ];
}

/** What servers ask. */
function questions(world) {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const asked = {
    form: ["elicitation/create", { mode: "form", message: "Name?", requestedSchema }],
    page: ["elicitation/create", { mode: "url", message: "Go", url: "https://example.com/in", elicitationId: "e-1" }],
    sample: [
      "sampling/createMessage",
      { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 5 },
    ],
    roots: ["roots/list", {}],
    own: ["com.example/question", { a: 1 }],
    none: ["no/such", {}],
    odd: ["elicitation/create", { message: 5 }],
  };
  return Object.entries(asked).flatMap(([name, [method, params]], at) => {
    const ways = ["accept", "decline", "wrong", "fails", undefined].filter(
      (_way, place) => name === "form" || (place + at) % 2 === 0,
    );
    return ways.map((answering) => {
      const rules = world.isModern
        ? [
            {
              on: "tools/call",
              once: true,
              reply: {
                result: { resultType: "input_required", inputRequests: { q: { method, params } }, requestState: "s" },
              },
            },
            { on: "tools/call", reply: { result: said(world, "answered") } },
          ]
        : [{ on: "tools/call", reply: pushing(world, { jsonrpc: "2.0", id: 900, method, params }) }];
      const answer = { jsonrpc: "2.0", id: "{{id}}", result: said(world, "answered") };
      const steps = [CALL, ...(world.isModern ? [] : [{ push: { event: answer, frame: answer } }])];
      return script(world, `${name} ${answering}`, rules, steps, { answering });
    });
  });
}

const pushing = ({ wire }, message) => (wire === "http" ? { sse: [message], open: true } : { frames: [message] });

/** How servers of all sorts answer whoever connects. */
function openings() {
  const probes = {
    "not found": { status: 404, text: "Not found" },
    "not allowed": { status: 405, text: "" },
    unauthorized: { status: 401, text: "", headers: { "www-authenticate": "Bearer" } },
    broken: { status: 500, text: "oops" },
    html: { status: 200, text: "<html>", headers: { "content-type": "text/html" } },
    "no words": { status: 400, text: "" },
    refused: { fails: "refused" },
    silent: { hold: true },
    "method unknown": { error: { code: -32_601, message: "no" } },
    "other version": {
      status: 400,
      error: { code: -32_022, message: "no", data: { supported: ["2030-01-01"], requested: MODERN } },
    },
    "no common version": { result: discovered({ supportedVersions: ["2030-01-01"] }) },
    "odd result": { result: { resultType: "complete" } },
    "asks at once": { result: { resultType: "input_required", inputRequests: {} } },
    "older session": { status: 400, error: { code: -32_000, message: "Bad Request: no session" } },
  };
  const handshakes = {
    good: { result: initialized("2025-11-25"), headers: { "mcp-session-id": "s-1" } },
    older: { result: initialized("2024-11-05") },
    newer: { result: initialized("2099-01-01") },
    odd: { result: { protocolVersion: 5 } },
    "not allowed": { status: 405, text: "" },
  };
  const steps = [{ advance: 10_001 }, { advance: 60_001 }, { call: "callTool", args: ["echo"] }];
  const rules = (probe, handshake) => [
    { on: "server/discover", reply: probe },
    { on: "initialize", reply: handshake },
    { on: "tools/call", reply: { result: { content: [] } } },
  ];
  const scripts = Object.entries(probes).flatMap(([name, probe]) =>
    ["http", "memory"]
      .filter((wire) => wire === "http" || probe.text === undefined)
      .map((wire) => ({
        name: `${wire} probe ${name}`,
        wire,
        rules: rules(probe.fails && wire === "memory" ? { cut: true } : probe, handshakes.good),
        steps,
      })),
  );
  for (const [name, handshake] of Object.entries(handshakes)) {
    for (const era of ["auto", "legacy", "modern"]) {
      const endpoint = { on: "GET", reply: { sse: ["event: endpoint\ndata: /messages?sessionId=1\n\n"], open: true } };
      const list = [...rules(probes["not found"], handshake), ...(name === "not allowed" ? [endpoint] : [])];
      scripts.push({ name: `http handshake ${name} as ${era}`, wire: "http", rules: list, steps, options: { era } });
    }
  }
  for (const options of [
    { version: "2025-06-18" },
    { version: MODERN },
    { versions: ["2025-03-26"] },
    { version: "1.0" },
    { prior: { era: "legacy" } },
    { prior: { era: "modern", discovered: discovered() } },
    { session: { era: "legacy", id: "s-9", initialized: initialized("2025-11-25") } },
  ]) {
    scripts.push({
      name: `http as told ${JSON.stringify(options)}`,
      wire: "http",
      rules: rules(probes["not found"], handshakes.good),
      steps,
      options,
    });
  }
  return [...scripts, ...oldTransport()];
}

/** The HTTP+SSE transport of 2024-11-05: answers come on the stream of a GET. */
function oldTransport() {
  const endpoint = (data) => ({ on: "GET", reply: { sse: [`event: endpoint\ndata: ${data}\n\n`], open: true } });
  const refusals = ["server/discover", "initialize"].map((on) => ({
    on,
    once: true,
    reply: { status: 404, text: "" },
  }));
  const taken = ["initialize", "tools/call", "tools/list"].map((on) => ({ on, reply: { status: 202 } }));
  const event = (result) => ({ push: { event: { jsonrpc: "2.0", id: "{{id}}", result } } });
  const open = event(initialized("2024-11-05"));
  const call = { call: "callTool", args: ["echo", {}], options: { signal: true } };
  const stories = {
    calls: [open, call, event({ content: [{ type: "text", text: "old" }] }), { call: "tools" }, event({ tools: [] })],
    cancel: [open, call, { abort: "callTool" }, { call: "tools" }],
    lost: [open, call, { cut: {} }, { advance: 5000 }, { call: "tools" }],
    ended: [open, call, { finish: {} }, { advance: 5000 }, { call: "tools" }],
    question: [open, call, { push: { event: { jsonrpc: "2.0", id: 5, method: "roots/list" } } }],
    silence: [{ advance: 61_000 }],
    garbage: [{ push: { text: "data: {\n\n" } }, open, call],
  };
  const scripts = Object.entries(stories).map(([name, steps]) => ({
    name: `http sse ${name}`,
    wire: "http",
    rules: [...refusals, ...taken, endpoint("/messages?sessionId=1")],
    steps,
  }));
  for (const data of ["https://evil.example.com/messages", "messages", "", "::"]) {
    scripts.push({
      name: `http sse endpoint ${data}`,
      wire: "http",
      rules: [...refusals, ...taken, endpoint(data)],
      steps: [open, call],
    });
  }
  return scripts;
}
