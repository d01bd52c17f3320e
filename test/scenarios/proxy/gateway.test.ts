import { deepEqual, equal } from "node:assert/strict";
import type { Client } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire } from "../../support/each-wire.js";
import { RawServer } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "gateway", version: "1.0.0" };
const FORWARDED = ["tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read"];

const strange = { "x-made-up": { deep: [1, null, "two"] }, _meta: { "example.com/mark": { kept: true } } };

const input = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { q: { $ref: "#/$defs/q" } },
  $defs: { q: { type: "string", "x-note": "kept" } },
};
const LISTED = {
  "tools/list": {
    tools: [
      { name: "odd name", title: "Odd", inputSchema: input, outputSchema: { type: "object" }, ...strange },
      { name: "plain", inputSchema: { type: "object" }, annotations: { readOnlyHint: true, "x-more": 1 } },
    ],
    nextCursor: "page/2",
    ...strange,
  },
  "resources/list": { resources: [{ uri: "note://1", name: "one", size: 3, ...strange }], ...strange },
  "resources/templates/list": {
    resourceTemplates: [{ uriTemplate: "note://{id}", name: "t", ...strange }],
    ...strange,
  },
} as const;

const called = (params: object) => ({
  content: [{ type: "text", text: "said", annotations: { priority: 1 }, ...strange }],
  structuredContent: { params },
  ...strange,
});
const read = { contents: [{ uri: "note://1", text: "one", mimeType: "text/plain", ...strange }], ...strange };

/** A server that knows nothing of what it serves, and a client that knows nothing of who asks. */
function gatewayTo(upstream: Client): McpServer {
  const server = new McpServer(me, { identify: false, capabilities: { tools: true, resources: true } });
  for (const method of FORWARDED) {
    server.method(method, {}, (params) => upstream.request(method, params));
  }
  return server;
}

/** What the protocol of one era or the other adds to a result. */
function own(result: { readonly [key: string]: unknown } | undefined): object {
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result ?? {};
  return rest;
}

for (const era of ["modern", "legacy"] as const) {
  verifies("flow:proxy:forward-tools-resources", `to a ${era} server`, eachWire, async ({ connect }, t) => {
    const asked: Record<string, { readonly [key: string]: unknown }> = {};
    const complete = era === "modern" ? { resultType: "complete" } : {};
    const hints = era === "modern" ? { ...complete, ttlMs: 0, cacheScope: "private" } : {};
    const noting = (method: string, answer: (params: object) => object) => {
      const handler = (params: { readonly [key: string]: unknown }) => {
        asked[method] = params;
        const { _meta, ...rest } = params;
        return { ...answer(rest) };
      };
      return [method, handler] as const;
    };
    const upstream = await new RawServer({
      era,
      handlers: Object.fromEntries([
        ...Object.entries(LISTED).map(([method, result]) => noting(method, () => ({ ...hints, ...result }))),
        noting("tools/call", (params) => ({ ...complete, ...called(params) })),
        noting("resources/read", () => ({ ...hints, ...read })),
      ]),
    }).connect(t);
    const client = await connect(gatewayTo(upstream));

    for (const [method, result] of Object.entries(LISTED)) {
      await client.request(method, { cursor: "page/1" });
      deepEqual(own(client.wire.responsesTo(method).at(-1)?.result), result, method);
      equal(asked[method]?.cursor, "page/1");
    }
    const params = { name: "odd name", arguments: { q: "ü", deep: { a: [null, 1.5] } } };
    await client.request("tools/call", { ...params, _meta: { "example.com/trace": "t-1" } });
    deepEqual(own(client.wire.responsesTo("tools/call").at(-1)?.result), called(params));
    const meta = asked["tools/call"]?._meta as Record<string, unknown> | undefined;
    equal(meta?.["example.com/trace"], "t-1");
    await client.request("resources/read", { uri: "note://1" });
    deepEqual(own(client.wire.responsesTo("resources/read").at(-1)?.result), read);
  });
}
