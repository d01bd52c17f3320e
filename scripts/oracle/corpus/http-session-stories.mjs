import {
  ALL_CAPABILITIES,
  getStream,
  handshake,
  initializeMessage,
  LEGACY,
  legacyPost,
  legacyRequest,
} from "./requests.mjs";

const capabilities = ALL_CAPABILITIES;
const call = (name, more) => legacyRequest("tools/call", { name, arguments: {} }, more);
const say = (message, version) => legacyPost({ jsonrpc: "2.0", ...message }, { version });

/** Returns scripts about sessions, the GET stream, resumption and cancellation. */
export function sessionStories() {
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
