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
    deepEqual(reports, [[failure, { where: "handler", method: "prompts/get", id: ids[0], name: "greet" }]]);
  });
}

test("the lines of a console have no members without a value", async (t) => {
  const printed: unknown[][] = [];
  for (const level of ["debug", "info", "warn", "error"] as const)
    t.mock.method(console, level, (...args: unknown[]) => void printed.push(args));
  const server = new McpServer({ name: "s", version: "1" }, { logger: console, warnDeprecated: false })
    .tool("a b", {}, () => "")
    .method("x/fail", {}, () => {
      throw new Error("no");
    });
  const client = await connect(server);
  const watch = await client.watch({ toolsListChanged: true });
  await rejects(client.request("x/fail", {}), { rpcCode: -32603 });
  await watch.close();
  await client.close();
  await server.close();
  deepEqual(
    printed.map(([text, fields]) => [text, ...Object.keys(fields ?? {})]),
    [
      ['tool "a b": some hosts refuse this name; use 1 to 128 of A-Z a-z 0-9 _ - .'],
      ["no", "where", "method", "id", "error"],
    ],
  );
  deepEqual(
    printed.map((line) => line.length),
    [1, 2],
  );
});
