import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect, withParams } from "bowline/client";
import { McpServer } from "bowline/server";
import * as z from "zod";

test("a request without params reaches a handler whose params may all be left out", async (t) => {
  const taken: unknown[] = [];
  const server = new McpServer({ name: "s", version: "1" }).tool("ask", {}, async (_, ctx) => {
    await ctx.request("vendor/ask");
    await ctx.request("vendor/ask", { _meta: { note: 1 }, size: 2 });
    return "asked";
  });
  const client = await connect(server, {
    era: "legacy",
    methods: {
      "vendor/ask": withParams(z.strictObject({ size: z.number().optional() }), (params) => {
        taken.push(params);
        return {};
      }),
    },
  });
  t.after(() => client.close());
  await client.callTool("ask");
  deepEqual(taken, [{}, { size: 2 }]);
});

test("params that do not fit never reach the handler, and the places are named", async () => {
  const handler = withParams(z.object({ size: z.number() }), () => Promise.reject(new Error("reached")));
  await rejects(handler(undefined), { rpcCode: -32602, message: /\/size/ });
  await rejects(handler({ size: "2" }), { rpcCode: -32602, message: /\/size/ });
});
