import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { until } from "../../support/legacy-endpoint.js";

const me = { name: "handlers", version: "1.0.0" };

/** What programs return without meaning to: the length of an array, a map, an object that looks like no promise. */
const returned: readonly unknown[] = [1, true, "text", new Map(), {}, null, undefined];

for (const side of ["notifications", "onNotification"] as const) {
  test(`a handler of notifications may return anything: ${side}`, async (t) => {
    const problems: Error[] = [];
    const heard: unknown[] = [];
    const handler = () => {
      heard.push(returned[heard.length]);
      return heard.at(-1) as never;
    };
    const server = new McpServer(me).tool("first", {}, () => "");
    const client = await connect(server, {
      era: "legacy",
      onError: (error) => void problems.push(error),
      ...(side === "onNotification"
        ? { onNotification: handler }
        : { notifications: { "notifications/tools/list_changed": handler } }),
    });
    t.after(() => client.close());
    for (let n = 0; n < returned.length; n++) {
      server.changes.toolsChanged();
      await until(() => heard.length === n + 1);
    }
    deepEqual(problems, []);
  });
}

test("a handler of notifications that fails is told, whatever kind of promise it gave", async (t) => {
  const problems: string[] = [];
  const results: unknown[] = [
    Promise.reject(new Error("one")),
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library
    { then: (_: unknown, reject: (error: Error) => void) => reject(new Error("two")) },
  ];
  let at = 0;
  const server = new McpServer(me).tool("first", {}, () => "");
  const client = await connect(server, {
    era: "legacy",
    onError: (error) => void problems.push(error.message),
    onNotification: () => results[at++] as never,
  });
  t.after(() => client.close());
  for (let n = 1; n <= 2; n++) {
    server.changes.toolsChanged();
    await until(() => problems.length === n);
  }
  deepEqual(problems, ["one", "two"]);
});
