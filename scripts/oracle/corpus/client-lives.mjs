import { CALL, complete, said, script } from "./client-words.mjs";

/** Returns scripts in which calls, watches and connections of a client end. */
export function clientLives(world) {
  return [...lives(world), ...watches(world), ...delays(world)];
}

/** Returns scripts in which calls and connections end. */
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
  ];
  return stories;
}

/** Returns scripts of watches and their ends. */
function watches(world) {
  const note = (method, params) => {
    const message = { jsonrpc: "2.0", method, params };
    return { push: { event: message, frame: message } };
  };
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
      { ...watch, options: { resubscribe: false, signal: true } },
      { cut: {} },
      { ...watch, as: "x", options: { signal: true } },
      { abort: "x" },
      { advance: 1000 },
    ]),
  ];
}

/** Returns scripts about the delays of retries, with a clock that advances in small steps. */
function delays(world) {
  const isHttp = world.wire === "http";
  const filter = { toolsListChanged: true, resources: ["note://1"] };
  const acknowledged = {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: {
      notifications: { toolsListChanged: true },
      _meta: { "io.modelcontextprotocol/subscriptionId": "{{id}}" },
    },
  };
  const refused = { status: 503, error: { code: -32_603, message: "not now" } };
  const listening = {
    on: "subscriptions/listen",
    once: true,
    reply: isHttp ? { sse: [acknowledged] } : { frames: [acknowledged] },
  };
  const resumable = { on: "tools/call", once: true, reply: { sse: ["id: 7\ndata: \n\n"] } };
  const slowly = { advance: 100, times: 90 };
  const gone = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "{{id}}" } };
  const watch = { call: "watch", args: [filter], options: {}, as: "w" };
  const lost = isHttp ? [] : [{ push: { frame: gone } }];
  const scripts = [
    script(
      world,
      "delays of a watch",
      [
        listening,
        { on: "subscriptions/listen", reply: refused },
        { on: "resources/subscribe", reply: { result: {} } },
        { on: "GET", once: true, reply: { sse: [] } },
        { on: "GET", reply: { fails: "refused" } },
      ],
      [watch, ...lost, slowly],
    ),
  ];
  if (!isHttp) return scripts;
  const list = { call: "tools" };
  return [
    ...scripts,
    script(
      world,
      "delays of a stream",
      [resumable, { on: "GET", reply: { fails: "refused" } }],
      [{ ...CALL, as: "a" }, slowly],
    ),
    script(
      world,
      "delays of a stream that asks for some",
      [
        { ...resumable, reply: { sse: ["id: 7\nretry: 700\ndata: \n\n"] } },
        { on: "GET", reply: { sse: ["id: 8\nretry: 300\ndata: \n\n"] } },
      ],
      [{ ...CALL, as: "a", options: { timeoutMs: 8000, onResumable: true } }, slowly],
    ),
    script(world, "delays of retries", [{ on: "tools/list", reply: { fails: "refused" } }], [list, slowly], {
      retries: { attempts: 4, delayMs: 150 },
    }),
    script(world, "retries as they come", [{ on: "tools/list", reply: { fails: "refused" } }], [list, slowly], {
      retries: {},
    }),
    script(
      world,
      "own headers",
      [{ on: "tools/call", reply: { result: said(world, "said") } }],
      [{ ...CALL, as: "a" }],
      {
        options: {
          headers: {
            accept: "text/plain",
            "content-type": "text/plain",
            "Mcp-Method": "own",
            "mcp-name": "own",
            "mcp-session-id": "own",
            "mcp-protocol-version": "own",
            "mcp-param-text": "own",
            "last-event-id": "own",
            authorization: "Bearer own",
          },
        },
      },
    ),
  ];
}
