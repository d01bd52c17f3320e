import { strict as assert } from "node:assert";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";

test("answers the question of a tool", async (t) => {
  const server = new McpServer({ name: "files", version: "1.0.0" }).tool("delete", async (_args, ctx) => {
    const { action } = await ctx.elicit("Really?", { type: "object", properties: {} });
    return action === "accept" ? "deleted" : "kept";
  });
  const client = await connect(server, { onElicit: () => ({ action: "decline" }) });
  t.after(() => client.close());
  assert.equal((await client.callTool("delete")).text, "kept");
});
