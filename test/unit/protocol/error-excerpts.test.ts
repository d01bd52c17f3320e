import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { McpServer, RpcError } from "bowline/server";
import * as z from "zod";
import { oneLine } from "#src/protocol/text.js";
import { eachWire } from "../../support/each-wire.js";
import { LegacyEndpoint } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";

const me = { name: "excerpts", version: "1.0.0" };
const LONG = "x".repeat(10_000);

test("an excerpt is short, on one line, and has no character that changes how the rest reads", () => {
  equal(oneLine("tools/call"), "tools/call");
  equal(oneLine("a".repeat(300)), "a".repeat(300));
  equal(oneLine("a".repeat(301)), `${"a".repeat(300)}...`);
  equal(oneLine("a\r\n\u0000b\u202ec\u2028d\ue000"), "a b c d\ue000");
  // A pair of surrogates that is cut in two leaves none of them.
  ok(!/\p{Cs}/u.test(oneLine(`${"a".repeat(299)}\u{1F600}`)));
});

for (const wire of eachWire) {
  test(`no error repeats a long text of the client [${wire.name}]`, async (t) => {
    const { connect } = await wire.open(t);
    const server = new McpServer(me)
      .tool("none", {}, () => "")
      .tool("strict", { input: z.strictObject({ a: z.number() }) }, () => "")
      .prompt("greet", { arguments: z.object({ a: z.enum(["b"]) }) }, () => "")
      .method("own", { params: z.object({ list: z.array(z.number()) }) }, () => ({}))
      .resource("note://{id}", { name: "note" }, () => undefined);
    const client = await connect(server);
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`argument${n}`, n]));
    const requests: [method: string, params: Record<string, unknown>][] = [
      [LONG, {}],
      [`${LONG}/a`, { cursor: 1 }],
      ["tools/call", { name: LONG }],
      ["tools/call", { name: "none", arguments: { [LONG]: 1 } }],
      ["tools/call", { name: "none", arguments: many }],
      ["tools/call", { name: "strict", arguments: { a: 1, ...many } }],
      ["prompts/get", { name: LONG }],
      ["prompts/get", { name: "greet", arguments: { a: LONG } }],
      ["prompts/get", { name: "greet", arguments: { [LONG]: 1 } }],
      ["own", { list: Array.from({ length: 5_000 }, () => "no number") }],
      ["resources/read", { uri: `note://${LONG}` }],
      ["resources/read", { uri: `none:${LONG}` }],
      ["completion/complete", { ref: { type: "ref/prompt", name: LONG }, argument: { name: LONG, value: "" } }],
    ];
    for (const [method, params] of requests) {
      const answer = await client.request(method, params).catch((error: unknown) => error);
      const { message, data, content } = answer as { message?: string; data?: unknown; content?: unknown };
      ok(answer instanceof RpcError || content !== undefined, method.slice(0, 20));
      const size = JSON.stringify([message, data, content]).length;
      ok(size < 5_000, `${method.slice(0, 20)}: ${size} characters`);
    }
    const missing = await client.request(LONG, {}).catch((error: unknown) => error);
    ok(missing instanceof RpcError);
    equal(missing.message, `Method not found: ${"x".repeat(300)}...`);
  });
}

test("no refusal of the transport does either", async (t) => {
  const endpoint = new LegacyEndpoint();
  t.after(() => endpoint.server.close());
  const posts = [
    modernRequest(LONG, { headers: { accept: "text/html" } }),
    modernRequest("tools/list", {
      meta: { "io.modelcontextprotocol/protocolVersion": LONG },
      headers: { "mcp-protocol-version": LONG },
    }),
    modernRequest("tools/list", { headers: { host: `${LONG}.example` } }),
    modernRequest("tools/list", { headers: { origin: `https://${LONG}.example` } }),
  ];
  for (const { headers, body } of posts) {
    const exchange = endpoint.send("POST", body, { headers });
    await exchange.done;
    ok((exchange.status ?? 0) >= 400);
    ok(exchange.body().length < 1_000, exchange.body().slice(0, 100));
  }
});

test("the first issues are told, and how many more there are", async (t) => {
  const world = await eachWire[0]?.open(t);
  const server = new McpServer(me).tool("none", {}, () => "");
  const client = await world?.connect(server);
  const args = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`a${n}`, n]));
  const { text = "", isError } = (await client?.callTool("none", args)) ?? {};
  equal(isError, true);
  match(text, /^Invalid arguments for tool none: \/a0 is not allowed/);
  deepEqual([text.includes("/a19 "), text.includes("/a20 "), text.endsWith("; and 5 more")], [true, false, true]);
});
