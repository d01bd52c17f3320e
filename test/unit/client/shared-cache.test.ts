import { deepEqual } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect, memoryCache } from "bowline/client";
import { McpServer } from "bowline/server";

/** Clients of two users with one store, and a server that counts its answers. */
async function users(t: TestContext) {
  const told = { scope: "private" as "private" | "public", count: 0 };
  const server = new McpServer({ name: "s", version: "1" });
  server.method("resources/read", {}, () => ({
    contents: [{ uri: "a:b", text: String(++told.count) }],
    ttlMs: 1e6,
    cacheScope: told.scope,
  }));
  t.after(() => server.close());
  const store = memoryCache();
  const fetch = (url: URL, init: RequestInit) => server.fetch(new Request(url, init));
  const dial = async (partition: string) => {
    const client = await connect("http://localhost/mcp", { fetch, cache: { store, partition, sharePublic: true } });
    t.after(() => client.close());
    return async (cache?: "refresh") => {
      const { contents } = await client.readResource("a:b", cache === undefined ? {} : { cache });
      return (contents[0] as { text: string }).text;
    };
  };
  return { told, one: await dial("one"), two: await dial("two") };
}

test("a result that has become public takes the place of the user's own", async (t) => {
  const { told, one, two } = await users(t);
  deepEqual([await one(), await one()], ["1", "1"]);
  told.scope = "public";
  deepEqual([await one("refresh"), await one(), await two()], ["2", "2", "2"]);
});

test("a result that has become private is shared no more", async (t) => {
  const { told, one, two } = await users(t);
  told.scope = "public";
  deepEqual([await one(), await two()], ["1", "1"]);
  told.scope = "private";
  deepEqual([await one("refresh"), await one(), await two(), await two()], ["2", "2", "3", "3"]);
});

test("pages of different scopes stay in the cache side by side", async (t) => {
  let requests = 0;
  const server = new McpServer({ name: "s", version: "1" });
  server.method("resources/list", {}, ({ cursor }) => {
    requests++;
    const page = cursor === undefined ? { nextCursor: "2", cacheScope: "public" } : { cacheScope: "private" };
    return { resources: [], ttlMs: 1e6, ...page };
  });
  t.after(() => server.close());
  const fetch = (url: URL, init: RequestInit) => server.fetch(new Request(url, init));
  const client = await connect("http://localhost/mcp", { fetch, cache: { sharePublic: true } });
  t.after(() => client.close());
  const counts: number[] = [];
  for (let round = 0; round < 3; round++) {
    for await (const _ of client.resources());
    counts.push(requests);
  }
  deepEqual(counts, [2, 2, 2]);
});
