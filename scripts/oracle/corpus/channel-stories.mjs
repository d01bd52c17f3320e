import { ANSWERS, ASKING } from "./catalogue.mjs";
import { cancel, wordsOf } from "./channel-words.mjs";

/** Returns hand-written scripts of frames that belong together. */
export function channelStories(era) {
  const { opening, ask } = wordsOf(era);
  const call = (id, name, args = {}) => ask(id, "tools/call", { name, arguments: args }, { progressToken: id });
  const changes = [
    "tools",
    "prompts",
    "resources",
    ["updated", "note://first"],
    ["log", "error", "bad"],
    "define",
    ["remove", "echo"],
    ["disable", "add"],
    ["enable", "add"],
  ];
  const acts = changes.map((act) => ({ act }));
  const filter = {
    notifications: { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["note://first"] },
  };
  const listening =
    era === "modern"
      ? { send: ask("sub", "subscriptions/listen", filter) }
      : { send: ask("sub", "resources/subscribe", { uri: "note://first" }) };
  const scripts = [
    ["changes", "hooks", [...opening, listening, ...acts, { send: cancel("sub") }, { act: "tools" }]],
    ["listening to the end", "plain", [...opening, listening, { act: "tools" }, { act: "close" }]],
    [
      "listening for long",
      "limits",
      [...opening, listening, { act: ["advance", 10_000] }, { act: ["advance", 25_000] }],
    ],
    [
      "cancel",
      "plain",
      [
        ...opening,
        { send: call(1, "wait") },
        { send: call(2, "wait") },
        { send: cancel(1, "enough") },
        { send: cancel(1) },
        { act: "release" },
      ],
    ],
    [
      "cancel before it begins",
      "plain",
      [...opening, { together: [cancel(1), call(1, "wait"), cancel(1)] }, { act: "release" }],
    ],
    ["cancel a question", "plain", [...opening, { send: call(1, "ask") }, { send: cancel(1) }]],
    ["client goes", "plain", [...opening, { send: call(1, "wait") }, { send: call(2, "ask") }, { end: true }]],
    [
      "client goes at once",
      "plain",
      [...opening, { together: [call(1, "echo", { text: "t" }), call(2, "progress")] }, { end: true }],
    ],
    ["server closes", "plain", [...opening, { send: call(1, "wait") }, { act: "close" }]],
    [
      "server drains",
      "plain",
      [...opening, { send: call(1, "wait") }, { act: ["drain", 1000] }, { send: call(2, "value") }, { act: "release" }],
    ],
    ["time runs out", "plain", [...opening, { send: call(1, "slow") }, { act: ["advance", 1001] }]],
    [
      "one at a time",
      "plain",
      [
        ...opening,
        { together: [call(1, "single"), call(2, "single"), call(3, "single")] },
        { send: cancel(2) },
        { act: "release" },
      ],
    ],
    [
      "ids in use",
      "plain",
      [
        ...opening,
        { send: call(1, "wait") },
        { send: call(1, "value") },
        { send: call("1", "value") },
        { act: "release" },
      ],
    ],
    ["progress too often", "limits", [...opening, { send: call(1, "progress") }, { act: ["advance", 1001] }]],
    [
      "pings",
      "limits",
      [
        ...opening,
        { act: ["advance", 10_000] },
        { send: { jsonrpc: "2.0", id: "{{question}}", result: {} } },
        { act: ["advance", 10_000] },
        { act: ["advance", 3001] },
      ],
    ],
    [
      "pages",
      "options",
      [
        ...opening,
        { send: ask(1, "tools/list", {}) },
        { send: ask(2, "tools/list", { cursor: "{{cursor}}" }) },
        { send: ask(3, "resources/list", {}) },
      ],
    ],
    [
      "levels",
      "options",
      [
        ...opening,
        { send: ask(1, "logging/setLevel", { level: "error" }) },
        { send: call(2, "log") },
        { act: ["log", "info", "x"] },
      ],
    ],
    [
      "many at once",
      "plain",
      [
        ...opening,
        {
          together: Array.from({ length: 30 }, (_one, id) =>
            call(id, ["value", "progress", "throw", "late-progress", "generate"][id % 5]),
          ),
        },
      ],
    ],
    ["batch", "plain", [...opening, { send: [call(1, "value"), ask(2, "ping", {})] }, { send: [] }, { send: [1] }]],
    [
      "garbage",
      "plain",
      [
        ...opening,
        ...[
          "",
          "{",
          "null",
          "1",
          '"x"',
          "{}",
          "[]",
          '{"jsonrpc":"2.0"}',
          '{"jsonrpc":"2.0","id":null,"method":"ping"}',
          '{"id":1,"method":"ping"}',
          `"${"x".repeat(5000)}"`,
        ].map((send) => ({ send })),
        { send: call(1, "value") },
      ],
    ],
    [
      "stray answers",
      "plain",
      [
        ...opening,
        { send: { jsonrpc: "2.0", id: 77, result: {} } },
        { send: { jsonrpc: "2.0", id: 78, error: { code: 1, message: "no" } } },
        { send: { jsonrpc: "2.0", id: null, error: { code: 1, message: "no" } } },
      ],
    ],
    [
      "origin",
      "plain",
      [...opening, { send: call(1, "facts") }, { send: call(2, "admin") }],
      { origin: { principal: "ada", auth: { scopes: ["admin"] } } },
    ],
  ];
  for (const tool of ASKING) {
    const ways = Object.entries(ANSWERS).filter((_way, at) => (at + tool.length) % 2 === 0);
    for (const [way, answer] of ways)
      scripts.push([
        `${tool} ${way}`,
        "plain",
        [...opening, { send: call(1, tool) }, ...answers(era, ask, tool, answer)],
      ]);
  }
  return scripts.map(([name, ...rest]) => [`${era} ${name}`, ...rest]);
}

/** Answers a question twice. The second answer is late, or is for a second question. */
function answers(era, ask, tool, answer) {
  if (era !== "modern") return [1, 2].map(() => ({ send: { jsonrpc: "2.0", id: "{{question}}", ...answer } }));
  const inputResponses = { "{{key0}}": answer.result ?? answer };
  return [2, 3].map((id) => ({
    send: ask(id, "tools/call", { name: tool, arguments: {}, inputResponses, requestState: "{{state}}" }),
  }));
}
