import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";

for (const era of ["modern", "legacy"] as const) {
  test(`${era}: the report of a failed handler names the method and the request`, async (t) => {
    const failure = new Error("no database");
    const reports: unknown[] = [];
    const ids: unknown[] = [];
    const onError = (error: unknown, context: object) => reports.push([error, { ...context }]);
    const server = new McpServer({ name: "s", version: "1" }, { onError }).prompt("greet", {}, (_, ctx) => {
      ids.push(ctx.requestId);
      throw failure;
    });
    const client = await connect(server, { era });
    t.after(() => client.close());
    await rejects(client.getPrompt("greet"), { message: "Internal error" });
    deepEqual(reports, [[failure, { where: "handler", method: "prompts/get", id: ids[0] }]]);
  });
}
