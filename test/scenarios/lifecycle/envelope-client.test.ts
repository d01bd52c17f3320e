import { deepEqual, equal, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import { modernHttp, modernWires, type RecordedClient, type World } from "../../support/each-wire.js";
import { MODERN } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const skipper = { name: "skipper", version: "3" };
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const INFO = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;

function harbour() {
  return new McpServer(me)
    .tool("who", {}, (_, ctx) => ({ structuredContent: { ...ctx.client, meta: ctx.meta }, content: [] }))
    .tool("ask", {}, async (_, ctx) => (await ctx.elicit("Sure?", sure)).action)
    .prompt("p", { arguments: { type: "object", properties: { a: { type: "string" } } } }, () => "say")
    .resource("a:{x}", { name: "r", complete: { x: () => ["1"] } }, () => "text")
    .method("com.example/own", {}, () => ({}));
}

const metaOf = (message: RecordedMessage | undefined) => (message?.params?._meta ?? {}) as Record<string, unknown>;

/** Every kind of request once. */
async function sail(client: RecordedClient): Promise<void> {
  await client.request("server/discover");
  await client.listTools();
  await client.callTool("who");
  await client.callTool("ask");
  await client.prompts().all();
  await client.getPrompt("p", { a: "1" });
  await client.resources().all();
  await client.resourceTemplates().all();
  await client.readResource("a:1");
  await client.complete({ type: "ref/resource", uri: "a:{x}" }, { name: "x", value: "" });
  await client.request("com.example/own");
  await (await client.watch({ toolsListChanged: true })).close();
}

const onElicit = () => ({ action: "decline" as const });

verifies(
  ["lifecycle:stateless:request-envelope", "lifecycle:envelope:stamped-on-every-request"],
  modernWires,
  async ({ connect, transport }: World) => {
    const client = await connect(harbour(), { info: skipper, onElicit });
    await sail(client);
    const requests = client.wire.requests();
    equal(requests.filter(({ method }) => method === "tools/call").length, 3);
    equal(new Set(requests.map(({ method }) => method)).size, 11);
    equal(
      client.wire.frames.some(({ message }) => message?.method?.includes("initialize")),
      false,
    );
    for (const request of requests) {
      const meta = metaOf(request);
      equal(meta[VERSION], MODERN);
      deepEqual(meta[CAPABILITIES], { elicitation: { form: {} } });
      deepEqual(meta[INFO], skipper);
    }
    const cancelled = client.wire.notifications("client");
    equal(cancelled.length, transport === "memory" || transport === "stdio" ? 1 : 0);
    for (const notification of cancelled) deepEqual(metaOf(notification), {});
    const bare = await connect(harbour(), { info: skipper });
    await bare.listTools();
    deepEqual(metaOf(bare.wire.requests("tools/list")[0])[CAPABILITIES], {});
  },
);

verifies("lifecycle:envelope:client-info-opt-out", modernWires, async ({ connect }: World) => {
  const client = await connect(harbour(), { info: skipper, identify: false, onElicit });
  await sail(client);
  for (const request of client.wire.requests()) equal(INFO in metaOf(request), false);
  const { structured } = await client.callTool("who");
  equal((structured as { info?: object }).info, undefined);
});

verifies("lifecycle:envelope:client-capabilities", modernWires, async ({ connect }: World) => {
  const client = await connect(harbour());
  await client.callTool("who");
  client.answerWith({ onElicit, capabilities: { extensions: { "com.example/x": { a: 1 } } } });
  equal((await client.callTool("ask")).text, "decline");
  const [before, after] = client.wire.requests("tools/call");
  deepEqual(metaOf(before)[CAPABILITIES], {});
  deepEqual(metaOf(after)[CAPABILITIES], {
    elicitation: { form: {} },
    extensions: { "com.example/x": { a: 1 } },
  });
});

verifies("lifecycle:stateless:caller-meta-preserved", modernWires, async ({ connect }: World) => {
  const client = await connect(harbour());
  const meta = { "com.example/trace": { a: [1] }, [VERSION]: "1999-01-01", [CAPABILITIES]: { roots: {} } };
  const before = structuredClone(meta);
  await client.callTool("who", {}, { meta });
  deepEqual(meta, before);
  const sent = metaOf(client.wire.requests("tools/call")[0]);
  deepEqual(sent["com.example/trace"], { a: [1] });
  equal(sent[VERSION], MODERN);
  deepEqual(sent[CAPABILITIES], {});
  const params = { name: "who", _meta: { "com.example/other": true } };
  await client.request("tools/call", params, { capabilities: { sampling: {} }, logLevel: "notice" });
  deepEqual(params, { name: "who", _meta: { "com.example/other": true } });
  const own = metaOf(client.wire.requests("tools/call")[1]);
  deepEqual(own[CAPABILITIES], { sampling: {} });
  equal(own[LOG_LEVEL], "notice");
  equal(own["com.example/other"], true);
});

verifies("lifecycle:envelope:header-matches-meta", modernHttp, async ({ connect }: World) => {
  const client = await connect(harbour(), { onElicit });
  await Promise.all([sail(client), client.callTool("who", {}, { meta: { [VERSION]: "1999-01-01" } })]);
  const posts = client.wire.exchanges.filter(({ body }) => body !== undefined && body !== "");
  ok(posts.length > 12);
  for (const { body, header } of posts) {
    equal(header("mcp-protocol-version"), metaOf(JSON.parse(body as string))[VERSION]);
  }
});
