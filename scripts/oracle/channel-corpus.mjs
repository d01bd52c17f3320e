import { ANSWERS, ASKING, ASKING_CALLS, CALLS, NOTIFICATIONS, WAITING_CALLS } from "./catalogue.mjs";
import { mutateFrame } from "./mutate.mjs";
import { ALL_CAPABILITIES, enveloped, INITIALIZED, initializeMessage, LEGACY } from "./requests.mjs";

const capabilities = ALL_CAPABILITIES;
const ERAS = ["modern", ...LEGACY];
/** How many calls of the catalogue one script has. */
const CALLS_EACH = 8;

const request = (id, method, params) => ({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });
const notification = (method, params) => ({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
const cancel = (requestId, reason) => notification("notifications/cancelled", { requestId, ...(reason && { reason }) });

/** What one era puts around its messages. */
function wordsOf(era) {
  if (era === "modern") {
    return {
      opening: [],
      ask: (id, method, params = {}, meta = {}) => request(id, method, enveloped(params, { capabilities, meta })),
    };
  }
  return {
    opening: [{ send: initializeMessage(era, capabilities) }, { send: INITIALIZED }],
    ask: (id, method, params, meta) => request(id, method, meta === undefined ? params : { ...params, _meta: meta }),
  };
}

/**
 * The scripts of frames.
 * @param {import("./random.mjs").Random} random
 * @param {number} count how many scripts are spoilt
 */
export function channelCorpus(random, count) {
  const scripts = ERAS.flatMap((era) => [...flawless(era), ...stories(era)]).concat(openings(), spoilt(random, count));
  return scripts.map(([name, server, steps, more], at) => ({
    name: `channel ${at} ${name}`,
    server,
    wire: at % 4 === 3 ? "stdio" : "memory",
    steps,
    ...more,
  }));
}

function flawless(era) {
  const { opening, ask } = wordsOf(era);
  const all = [...CALLS, ...ASKING_CALLS, ...WAITING_CALLS];
  const kinds = ["plain", "options", "extended", "intercepted"];
  const scripts = [];
  for (let at = 0; at < all.length; at += CALLS_EACH) {
    const frames = all
      .slice(at, at + CALLS_EACH)
      .map(([method, params], place) => ask(at + place, method, params, { progressToken: place }));
    const steps = at % (2 * CALLS_EACH) === 0 ? frames.map((send) => ({ send })) : [{ together: frames }];
    scripts.push([`${era} calls from ${at}`, kinds[(at / CALLS_EACH) % 4], [...opening, ...steps, { act: "release" }]]);
  }
  const heard = NOTIFICATIONS.map(([method, params]) => ({ send: notification(method, params) }));
  scripts.push([`${era} notifications`, "extended", [...opening, ...heard, { send: ask("last", "tools/list") }]]);
  return scripts;
}

function stories(era) {
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

/** Answers a question twice: the second answer comes too late, or is for a second question. */
function answers(era, ask, tool, answer) {
  if (era !== "modern") return [1, 2].map(() => ({ send: { jsonrpc: "2.0", id: "{{question}}", ...answer } }));
  const inputResponses = { "{{key0}}": answer.result ?? answer };
  return [2, 3].map((id) => ({
    send: ask(id, "tools/call", { name: tool, arguments: {}, inputResponses, requestState: "{{state}}" }),
  }));
}

/** How a conversation may begin. */
function openings() {
  const list = request(1, "tools/list", {});
  const modern = request(2, "tools/list", enveloped());
  const starts = {
    "no handshake": [list, request(2, "ping")],
    "handshake twice": [initializeMessage(), INITIALIZED, initializeMessage(LEGACY[1], {}, "again")],
    "call before initialized": [initializeMessage(), list],
    "both eras": [modern, initializeMessage(), INITIALIZED, list, modern],
    "legacy then modern": [initializeMessage(), INITIALIZED, modern, request(3, "server/discover", enveloped())],
    discover: [
      request(1, "server/discover", enveloped()),
      request(2, "server/discover", {}),
      request(3, "server/discover"),
    ],
    "wrong handshake": [
      request(1, "initialize"),
      request(2, "initialize", {}),
      request(3, "initialize", { protocolVersion: 5 }),
    ],
    "batched handshake": [
      [initializeMessage(), list],
      [INITIALIZED, list],
    ],
  };
  const versions = ["2099-01-01", "2024-10-07", "", "2026-07-28"].map((version) => [
    `version ${version}`,
    [initializeMessage(version), INITIALIZED, list],
  ]);
  return [...Object.entries(starts), ...versions].flatMap(([name, frames]) =>
    ["plain", "one-version", "two-versions", "bare"].map((kind) => [
      `opening ${name} on ${kind}`,
      kind,
      frames.map((send) => ({ send })),
    ]),
  );
}

function spoilt(random, count) {
  const all = [...CALLS, ...ASKING_CALLS];
  return Array.from({ length: count }, (_one, at) => {
    const era = random.pick(ERAS);
    const { opening, ask } = wordsOf(era);
    const frames = Array.from({ length: 5 }, (_frame, place) => {
      const [method, params] = random.pick(all);
      return {
        send: mutateFrame(
          ask(place, method, params, random.chance(0.3) ? { progressToken: place } : undefined),
          random,
        ),
      };
    });
    const first = opening.map(({ send }) => ({ send: random.chance(0.05) ? mutateFrame(send, random) : send }));
    return [`spoilt ${at} ${era}`, random.pick(["plain", "options", "extended", "limits"]), [...first, ...frames]];
  });
}
