import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";

test("hints of a handler are sent if they may be, and reported and replaced if not", async (t) => {
  const reports: string[] = [];
  const own: { ttlMs?: unknown; cacheScope?: unknown } = {};
  const server = new McpServer(
    { name: "s", version: "1" },
    { cache: { ttlMs: 7, scope: "public" }, onError: (error) => reports.push((error as Error).message) },
  );
  server.method("resources/read", {}, () => ({ contents: [], ...own }));
  const client = await connect(server, { era: "modern" });
  t.after(() => client.close());
  const read = async (given: typeof own) => {
    Object.assign(own, { ttlMs: undefined, cacheScope: undefined }, given);
    reports.length = 0;
    const { ttlMs, cacheScope } = (await client.request(
      "resources/read",
      { uri: "a:b" },
      { cache: "bypass" },
    )) as typeof own;
    return [ttlMs, cacheScope, ...reports];
  };
  deepEqual(await read({}), [7, "public"]);
  deepEqual(await read({ ttlMs: 0, cacheScope: "private" }), [0, "private"]);
  deepEqual(await read({ ttlMs: 5 }), [5, "public"]);
  deepEqual(await read({ cacheScope: "private" }), [7, "private"]);
  for (const ttlMs of [-1, 1.5, "5"]) {
    const rule = "ttlMs of the handler's result must be an integer of 0 or more";
    const report = `resources/read: ${rule}, got ${JSON.stringify(ttlMs)}`;
    deepEqual(await read({ ttlMs }), [7, "public", report]);
  }
  const report = `resources/read: cacheScope of the handler's result must be "public" or "private", got "shared"`;
  deepEqual(await read({ ttlMs: 1, cacheScope: "shared" }), [1, "public", report]);
});
