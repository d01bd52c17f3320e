import { deepEqual, equal, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import * as z from "zod";
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

const FROM_SERVERS = ["sampling/createMessage", "elicitation/create", "roots/list"];
const FROM_CLIENTS = ["initialize", "tools/list", "tools/call", "prompts/get", "resources/read", "logging/setLevel"];

verifies("protocol:method:wrong-direction", channelWires, async (world) => {
  const client = await AskedClient.open(world, createServer());
  for (const method of FROM_SERVERS) {
    for (const params of [{}, { message: "?", requestedSchema: {} }, { messages: [], maxTokens: 1 }]) {
      equal((await client.request(method, params)).error?.code, -32601, method);
    }
  }
});

verifies("protocol:method:wrong-direction", "to a client", scriptedLegacy, async ({ peer, connect }) => {
  await connect({ onElicit: () => ({ action: "decline" }) });
  for (const [id, method] of FROM_CLIENTS.entries()) {
    peer.send({ id: `q${id}`, method, params: { name: "a" } });
    equal((await peer.answerTo(`q${id}`)).error?.code, -32601, method);
  }
});
