import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { connect, DefinitionError } from "bowline/client";
import { jsonSchemaValidator } from "bowline/json-schema";
import { McpServer } from "bowline/server/modern";
import * as z from "zod";

const me = { name: "small", version: "1.0.0" };
const ADDRESS = "http://localhost/mcp";

function dial(server: { fetch(request: Request): Promise<Response> }) {
  return connect(ADDRESS, { fetch: (url, init) => server.fetch(new Request(url, init)) });
}

describe("the server for HTTP and versions without handshakes", () => {
  it("serves a client through fetch alone", async () => {
    const server = new McpServer(me).tool("double", { input: z.object({ n: z.number() }) }, ({ n }) => String(n * 2));
    await using client = await dial(server);
    equal((await client.callTool("double", { n: 4 })).text, "8");
    const { running, subscriptions } = server.stats();
    deepEqual({ running, subscriptions }, { running: 0, subscriptions: 0 });
  });

  it("tells a client of another version which it speaks", async () => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me };
    const reply = await new McpServer(me).fetch(
      new Request(ADDRESS, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
      }),
    );
    match(await reply.text(), /"supported":\["2026-07-28"\]/);
  });

  it("says what is wrong with a body that is no request", async () => {
    const server = new McpServer(me);
    for (const [body, code, words] of [
      ["{ not json", -32700, /parse|JSON/i],
      ["[]", -32600, /batches are not supported/],
      ['{"jsonrpc":"2.0","id":1,"result":{}}', -32600, /must not send responses/],
      ["5", -32600, /./],
    ] as const) {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const reply = await server.fetch(new Request(ADDRESS, { method: "POST", headers, body }));
      const { error } = (await reply.json()) as { error: { code: number; message: string } };
      deepEqual([reply.status, error.code], [400, code], body);
      match(error.message, words);
    }
  });

  it("takes plain JSON Schema from those who bring a validator", async () => {
    const input = { type: "object", properties: { n: { type: "number" } } };
    for (const define of [
      () => new McpServer(me).tool("t", { input }, () => "t"),
      () => new McpServer(me).prompt("p", { arguments: input }, () => "p"),
      () => new McpServer(me).method("vendor/m", { params: input }, () => ({})),
    ]) {
      throws(define, (error) => error instanceof DefinitionError && error.message.includes("bowline/json-schema"));
    }
    throws(
      () => new McpServer(me, { validator: jsonSchemaValidator as never }),
      /validator must be of type object, got function/,
    );
    const server = new McpServer(me, { validator: jsonSchemaValidator() })
      .tool("t", { input }, () => "t")
      .method("vendor/m", { params: input }, () => ({}));
    await using client = await dial(server);
    equal((await client.callTool("t", { n: 1 })).text, "t");
    equal((await client.callTool("t", { n: "1" })).isError, true);
    await rejects(client.request("vendor/m", { n: "1" }), /\/n/);
  });
});
