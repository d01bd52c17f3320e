import { deepEqual, equal, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { legacyMethods } from "#src/era/legacy/methods.js";
import { modernMethods } from "#src/era/modern/methods.js";
import { channelWires, eachWire } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { RawPeer, scriptedLegacy } from "../../support/raw-peer.js";
import { legacyAsking } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const legacyChannels = channelWires.filter(({ name }) => name.startsWith("legacy"));

const me = { name: "scenario", version: "1.0.0" };

const nulls = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`null${at}`, null]));
const strings = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`text${at}`, ""]));

function createServer() {
  return new McpServer(me)
    .tool("show", { input: { type: "object" } }, (args) => JSON.stringify(args))
    .prompt("greet", { arguments: z.object({ name: z.string().optional() }) }, ({ name = "you" }) => `hello ${name}`)
    .resource("db://{table}", { name: "db", complete: { table: () => ["users"] } }, () => "rows");
}

verifies("protocol:params:null-absent", channelWires, async (world) => {
  const client = await AskedClient.open(world, createServer());
  const argument = { name: "table", value: "" };
  const ref = { type: "ref/resource", uri: "db://{table}" };
  for (const [method, params, part] of [
    ["tools/list", { cursor: null }, { nextCursor: undefined }],
    ["resources/templates/list", { cursor: null }, { nextCursor: undefined }],
    ["tools/call", { name: "show", arguments: null }, { content: [{ type: "text", text: "{}" }] }],
    ["tools/call", { name: "show", arguments: { a: null } }, { content: [{ type: "text", text: '{"a":null}' }] }],
    ["prompts/get", { name: "greet", arguments: null }, {}],
    ["prompts/get", { name: "greet", arguments: { name: null } }, {}],
    ["prompts/get", { name: "greet", arguments: { ...nulls(16), ...strings(48) } }, {}],
    ["completion/complete", { ref, argument, context: null }, {}],
    ["completion/complete", { ref, argument, context: { arguments: null } }, {}],
  ] as const) {
    const result = await client.result(method, params);
    for (const [member, value] of Object.entries(part)) deepEqual(result[member], value, method);
  }
  for (const [method, params] of [
    ["tools/call", { name: null }],
    ["tools/call", { name: "show", arguments: "null" }],
    ["prompts/get", { name: "greet", arguments: { name: 1 } }],
    ["completion/complete", { ref: null, argument }],
    // What is copied to leave a member out is bounded.
    ["prompts/get", { name: "greet", arguments: nulls(17) }],
    ["prompts/get", { name: "greet", arguments: { ...nulls(1), ...strings(64) } }],
  ] as const) {
    equal((await client.request(method, params)).error?.code, -32602, JSON.stringify(params));
  }
});

verifies("protocol:params:null-absent", "in a call that may be repeated", eachWire, async ({ connect }) => {
  const client = await connect(createServer());
  const _meta = { progressToken: null, "io.modelcontextprotocol/logLevel": null };
  const params = { name: "show", arguments: null, requestState: null, inputResponses: null, _meta };
  deepEqual((await client.request("tools/call", params)).content, [{ type: "text", text: "{}" }]);
});

verifies("protocol:params:null-absent", "in the handshake, and params themselves", legacyChannels, async (world, t) => {
  const seen: unknown[] = [];
  const server = createServer().tool("who", {}, (_, ctx) => {
    seen.push(ctx.client.capabilities, ctx.client.info);
  });
  const peer = await RawPeer.open(await world.channel(server));
  t.after(() => peer.close());
  const capabilities = { sampling: null, roots: { listChanged: null }, elicitation: null };
  const clientInfo = { name: "raw", version: "1", title: null };
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo, _meta: null };
  peer.send({ id: 1, method: "initialize", params });
  ok((await peer.answerTo(1)).result);
  peer.send({ method: "notifications/initialized", params: null });
  for (const [id, method] of ["ping", "tools/list", "resources/list"].entries()) {
    peer.send({ id, method, params: null });
    ok((await peer.answerTo(id)).result, method);
  }
  peer.send({ id: "who", method: "tools/call", params: { name: "who", _meta: null } });
  ok((await peer.answerTo("who")).result);
  deepEqual(seen, [{ roots: {} }, { name: "raw", version: "1" }]);
  peer.send({ id: "second", method: "tools/call", params: null });
  equal((await peer.answerTo("second")).error?.code, -32602);
});

verifies("protocol:params:null-absent", "in a question", legacyAsking, async (server) => {
  const asked: object[] = [];
  await server.connect({
    onElicit: (params) => {
      asked.push(params);
      return { action: "decline" };
    },
    onSample: (params) => {
      asked.push(params);
      return { role: "assistant", model: "m", content: { type: "text", text: "" } };
    },
  });
  const requestedSchema = { type: "object", properties: {} };
  const form = { message: "?", requestedSchema };
  const sample = { messages: [], maxTokens: 1 };
  await server.ask("elicitation/create", { ...form, mode: null, _meta: null });
  await server.ask("sampling/createMessage", { ...sample, tools: null, toolChoice: null, systemPrompt: null });
  deepEqual(asked, [form, sample]);
});

/** Methods that one side alone sends, with valid params. */
const ONE_WAY = {
  server: {
    "sampling/createMessage": { messages: [], maxTokens: 1 },
    "elicitation/create": { message: "?", requestedSchema: { type: "object", properties: {} } },
    "roots/list": {},
  },
  client: {
    initialize: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me },
    "server/discover": {},
    "tools/list": {},
    "tools/call": { name: "a", arguments: {} },
    "prompts/list": {},
    "prompts/get": { name: "a" },
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": { uri: "a:b" },
    "resources/subscribe": { uri: "a:b" },
    "resources/unsubscribe": { uri: "a:b" },
    "completion/complete": { ref: { type: "ref/prompt", name: "a" }, argument: { name: "b", value: "" } },
    "logging/setLevel": { level: "info" },
    "subscriptions/listen": { notifications: {} },
  },
};
/** Params that no method accepts. */
const INVALID = [undefined, { name: 7, uri: 7, level: 7, cursor: 7, message: 7, messages: 7, _meta: 7 }];

/** Returns the methods that one side alone sends, in all versions, and their params, valid or not. */
function oneWay(from: keyof typeof ONE_WAY) {
  const known = [...legacyMethods, ...modernMethods].filter(([, shape]) => shape.from === from).map(([name]) => name);
  const methods = Object.entries(ONE_WAY[from]);
  // The handshake is no method of a table, since it precedes the choice of a version.
  deepEqual(new Set([...known, ...(from === "client" ? ["initialize"] : [])]), new Set(Object.keys(ONE_WAY[from])));
  return methods.flatMap(([method, valid]) => [valid, ...INVALID].map((params) => [method, params] as const));
}

verifies("protocol:method:wrong-direction", channelWires, async (world) => {
  const client = await AskedClient.open(world, createServer());
  for (const [method, params] of oneWay("server"))
    equal((await client.request(method, params)).error?.code, -32601, `${method} ${JSON.stringify(params)}`);
});

verifies("protocol:method:wrong-direction", "to a client", scriptedLegacy, async ({ peer, connect }) => {
  await connect({ onElicit: () => ({ action: "decline" }) });
  for (const [index, [method, params]] of oneWay("client").entries()) {
    const id = `q${index}`;
    peer.send({ id, method, ...(params && { params }) });
    equal((await peer.answerTo(id)).error?.code, -32601, `${method} ${JSON.stringify(params)}`);
  }
});
