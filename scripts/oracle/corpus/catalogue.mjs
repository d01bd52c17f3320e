/** Requests of clients that both eras share: the method and its params. */

const ARGUMENTS = {
  echo: [{ text: "hello" }, { text: "é\u2028😀\n" }, {}, { text: 5 }, { text: "a", more: true }],
  add: [{ a: 1, b: 2 }, { a: 1.5 }, { a: "1" }, { b: 1.5 }],
  forecast: [{ city: "Oslo" }, { city: "Oslo", days: 2 }, { city: "", days: 9 }, { city: null }],
  region: [{ region: "eu" }, { region: "eu", count: 42 }, { count: 1 }],
};

const SIMPLE = [
  ..."wrong-output content own value nothing facts hidden admin".split(" "),
  ..."fail throw throw-text rpc-error rpc-reserved url-required is-error bigint cycle".split(" "),
  ..."progress late-progress log notify generate".split(" "),
];

export const ASKING = "ask ask-twice ask-both ask-url ask-deep sample roots ask-own steps by-hand".split(" ");
export const WAITING = ["wait", "slow", "single", "detach"];

const call = (name, args) => ["tools/call", { name, ...(args !== undefined && { arguments: args }) }];

/** Calls of tools that ask the client nothing. */
export const TOOL_CALLS = [
  ...Object.entries(ARGUMENTS).flatMap(([name, all]) => all.map((args) => call(name, args))),
  ...SIMPLE.flatMap((name) => [call(name), call(name, {})]),
  call("no-such-tool", {}),
  call("", {}),
  ["tools/call", { arguments: {} }],
  ["tools/call", { name: "echo", arguments: [] }],
  ["tools/call", { name: "echo", arguments: "text" }],
  ["tools/call", { name: 5 }],
  ["tools/call", { name: "echo", arguments: { text: "t" }, task: { ttl: 1000 } }],
];

export const ASKING_CALLS = ASKING.map((name) => call(name, {}));
export const WAITING_CALLS = WAITING.map((name) => call(name, {}));

export const OTHER_CALLS = [
  ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].flatMap((method) => [
    [method, {}],
    [method, { cursor: "p0.nothing" }],
    [method, { cursor: "" }],
    [method, { cursor: 7 }],
  ]),
  ["prompts/get", { name: "greet", arguments: { name: "Ada" } }],
  ["prompts/get", { name: "greet", arguments: { name: "Ada", mood: "glad" } }],
  ["prompts/get", { name: "greet", arguments: { name: 5 } }],
  ["prompts/get", { name: "greet" }],
  ["prompts/get", { name: "plain" }],
  ["prompts/get", { name: "broken", arguments: {} }],
  ["prompts/get", { name: "no-such-prompt" }],
  ["prompts/get", {}],
  ...["note://first", "blob://one", "json://one", "bad://one", "refused://one", "note://n/10", "note://n/99"].map(
    (uri) => ["resources/read", { uri }],
  ),
  ...["file:///a/b.txt", "file:///../etc", "file:///%2e%2e/x", "no uri", "none://here", "note://n/a%20b"].map((uri) => [
    "resources/read",
    { uri },
  ]),
  ["resources/read", {}],
  ["resources/subscribe", { uri: "note://first" }],
  ["resources/subscribe", { uri: "none://here" }],
  ["resources/subscribe", {}],
  ["resources/unsubscribe", { uri: "note://first" }],
  ...["name", "mood", "none"].map((name) => [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "greet" }, argument: { name, value: "A" } },
  ]),
  ["completion/complete", { ref: { type: "ref/prompt", name: "none" }, argument: { name: "name", value: "" } }],
  [
    "completion/complete",
    {
      ref: { type: "ref/resource", uri: "note://n/{id}" },
      argument: { name: "id", value: "1" },
      context: { arguments: { a: "b" } },
    },
  ],
  ["completion/complete", { ref: { type: "ref/resource", uri: "none://{id}" }, argument: { name: "id", value: "1" } }],
  ["completion/complete", { ref: { type: "ref/else" }, argument: { name: "id", value: "1" } }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "greet" } }],
  ["logging/setLevel", { level: "warning" }],
  ["logging/setLevel", { level: "loud" }],
  ["logging/setLevel", {}],
  ["ping", {}],
  ["ping", undefined],
  ["server/discover", {}],
  ["subscriptions/listen", { notifications: { toolsListChanged: true, resourceSubscriptions: ["note://first"] } }],
  ["subscriptions/listen", { notifications: {} }],
  ["subscriptions/listen", {}],
  ["subscriptions/listen", { notifications: { toolsListChanged: "yes" } }],
  ["initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "again", version: "1" } }],
  ["roots/list", {}],
  ["sampling/createMessage", { messages: [], maxTokens: 1 }],
  ["elicitation/create", { message: "?" }],
  ["tasks/list", {}],
  ["no/such/method", { a: 1 }],
  ["com.example/double", { n: 4 }],
  ["com.example/double", { n: "4" }],
  ["com.example/needs", {}],
  ["com.example/broken", {}],
  ["jobs/get", { id: "j-1" }],
  ["__proto__", {}],
  ["constructor", {}],
];

export const CALLS = [...TOOL_CALLS, ...OTHER_CALLS];

/** Notifications, some of them invalid. */
export const NOTIFICATIONS = [
  ["notifications/cancelled", { requestId: 1, reason: "changed my mind" }],
  ["notifications/cancelled", { requestId: "none" }],
  ["notifications/cancelled", {}],
  ["notifications/cancelled", { requestId: {} }],
  ["notifications/progress", { progressToken: "t", progress: 1 }],
  ["notifications/progress", { progress: "much" }],
  ["notifications/roots/list_changed", undefined],
  ["notifications/initialized", undefined],
  ["notifications/elicitation/complete", { elicitationId: "e-1" }],
  ["notifications/no/such", { a: 1 }],
  ["com.example/heard", { n: 1 }],
  ["com.example/heard", { n: "x" }],
  ["jobs/heard", { n: 1 }],
];

/** Answers to a server's question: accepted, declined and invalid ones. */
export const ANSWERS = {
  accept: { result: { action: "accept", content: { name: "Ada", sure: true, which: "this" } } },
  decline: { result: { action: "decline" } },
  wrong: { result: { action: "accept", content: { name: 5 } } },
  odd: { result: { action: "maybe" } },
  sampled: {
    result: { role: "assistant", content: { type: "text", text: "Hi" }, model: "m-1", stopReason: "endTurn" },
  },
  roots: { result: { roots: [{ uri: "file:///work", name: "work" }] } },
  error: { error: { code: -1, message: "user says no" } },
  unknown: { error: { code: -32_601, message: "Method not found" } },
};
