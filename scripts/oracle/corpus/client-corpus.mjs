import { clientFaults } from "./client-faults.mjs";
import { clientLives } from "./client-lives.mjs";
import { clientOpenings } from "./client-openings.mjs";
import { clientQuestions } from "./client-questions.mjs";
import { CALL, complete, discovered, initialized, said, script } from "./client-words.mjs";
import { LEGACY, MODERN } from "./requests.mjs";

/** Wires, and versions that the server speaks, on which clients are tried. */
const WORLDS = ["http", "memory"].flatMap((wire) =>
  [MODERN, ...LEGACY].map((version) => ({ wire, version, isModern: version === MODERN })),
);

/** Returns the scripts of clients. */
export function clientCorpus() {
  const scripts = WORLDS.flatMap((world) => [
    ...flawless(world),
    ...clientLives(world),
    ...clientQuestions(world),
    ...clientFaults(world),
  ]);
  return scripts.concat(clientOpenings()).map(({ name, ...script }, at) => ({
    name: `client ${at} ${name}`,
    url: `https://s${at}.example.com/mcp?key=1`,
    options: {},
    steps: [],
    ...script,
  }));
}

const TOOL = {
  name: "echo",
  inputSchema: { type: "object", properties: { text: { type: "string", "x-mcp-header": "Text" } } },
  outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
};

/** Returns a script that calls every method of a client, with valid responses. */
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
