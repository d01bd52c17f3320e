import { rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { aborted, gate } from "../../support/gate.js";

for (const era of ["modern", "legacy"] as const) {
  test(`${era}: a notification of a cancellation ends the call on both sides`, async (t) => {
    const started = gate<unknown>();
    const stopped = gate();
    const server = new McpServer({ name: "s", version: "1" }).tool("wait", {}, async (_, ctx) => {
      started.open(ctx.requestId);
      await aborted(ctx.signal);
      stopped.open();
      return "";
    });
    const client = await connect(server, { era });
    t.after(() => client.close());
    const ended = rejects(client.callTool("wait", {}), { name: "AbortError", message: "no longer wanted" });
    const requestId = await started.opened;
    await client.notify("notifications/cancelled", { requestId, reason: "no longer wanted" });
    await ended;
    await stopped.opened;
  });
}
