import { ANSWERS, ASKING } from "./catalogue.mjs";
import { ALL_CAPABILITIES, getStream, handshake, LEGACY, legacyPost, legacyRequest, modernPost } from "./requests.mjs";

const capabilities = ALL_CAPABILITIES;
const call = (name, more) => legacyRequest("tools/call", { name, arguments: {} }, more);
const say = (message, version) => legacyPost({ jsonrpc: "2.0", ...message }, { version });

/** Returns scripts in which handlers ask questions, answered in each way. */
export function questionStories() {
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
