import { deepEqual, equal, rejects } from "node:assert/strict";
import { invalidCursor, McpServer } from "bowline/server";
import { channelWires, eachWire, modernChannels } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { askingServers, legacyAsking, modernAsking } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const LISTS = [
  ["tools/list", "tools", (n: number) => ({ name: `n${n}`, inputSchema: { type: "object" } })],
  ["prompts/list", "prompts", (n: number) => ({ name: `n${n}` })],
  ["resources/list", "resources", (n: number) => ({ uri: `a:${n}`, name: `n${n}` })],
  ["resources/templates/list", "resourceTemplates", (n: number) => ({ uriTemplate: `a:{x}/${n}`, name: `n${n}` })],
] as const;
const walks = ["tools", "prompts", "resources", "resourceTemplates"] as const;

/** Answers lists with these pages; the cursor of each names the next. */
function paging(cursors: readonly (string | null | undefined)[], sizes: readonly number[] = cursors.map(() => 1)) {
  return LISTS.map(([method, member, make]) => {
    const reply = ({ cursor }: { readonly [key: string]: unknown }) => {
      const at = cursor === undefined ? 0 : cursors.indexOf(cursor as string) + 1;
      const first = sizes.slice(0, at).reduce((sum, size) => sum + size, 0);
      const items = Array.from({ length: sizes[at] ?? 0 }, (_, index) => make(first + index));
      const next = cursors[at];
      return {
        [member]: items,
        ...(next === undefined ? undefined : { nextCursor: next }),
        ttlMs: 0,
        cacheScope: "private",
      };
    };
    return [method, reply] as const;
  });
}

verifies("pagination:exhaustion", askingServers, async (server) => {
  const client = await server.connect();
  for (const cursors of [["a", "b", undefined], [undefined]]) {
    for (const [method, reply] of paging(cursors)) server.results.set(method, reply);
    for (const [index, walk] of walks.entries()) {
      const before = server.requests(LISTS[index]?.[0] ?? "").length;
      const names = (await client[walk]({ cache: "bypass" }).all()).map(({ name }) => name);
      deepEqual(
        names,
        cursors.map((_, n) => `n${n}`),
      );
      equal(server.requests(LISTS[index]?.[0] ?? "").length - before, cursors.length);
    }
  }
});

verifies("pagination:empty-string-cursor", modernAsking, async (server) => {
  const client = await server.connect();
  for (const [method, reply] of paging(["", null])) server.results.set(method, reply);
  for (const [index, walk] of walks.entries()) {
    equal((await client[walk]().all()).length, 2);
    const cursors = server.requests(LISTS[index]?.[0] ?? "").map(({ params }) => params?.cursor);
    deepEqual(cursors, [undefined, ""]);
  }
});

verifies("pagination:server:empty-string-cursor", modernChannels, async (world) => {
  const seen: unknown[] = [];
  const server = new McpServer(me).method("prompts/list", {}, ({ cursor }) => {
    seen.push(cursor);
    return cursor === undefined ? { prompts: [], nextCursor: "" } : { prompts: [] };
  });
  const client = await AskedClient.open(world, server);
  equal((await client.request("prompts/list")).result?.nextCursor, "");
  equal("nextCursor" in ((await client.request("prompts/list", { cursor: "" })).result ?? {}), false);
  deepEqual(seen, [undefined, ""]);
});

verifies("pagination:client:cursor-handling", askingServers, async (server) => {
  const cursors = [" spaced\t", '{"a":[1]}', "h\u00e9\u{1f600}", "x".repeat(10_240), "%20+", undefined];
  const sizes = [0, 1, 7, 0, 2, 1];
  const client = await server.connect();
  for (const [method, reply] of paging(cursors, sizes)) server.results.set(method, reply);
  for (const [index, walk] of walks.entries()) {
    equal((await client[walk]().all()).length, 11);
    const sent = server.requests(LISTS[index]?.[0] ?? "").map(({ params }) => params?.cursor);
    deepEqual(sent, [undefined, ...cursors.slice(0, -1)]);
  }
});

verifies("pagination:client:no-persist", legacyAsking, async (server, t) => {
  for (const [method, reply] of paging(["a", "b", undefined])) server.results.set(method, reply);
  const first = await server.connect();
  for await (const _ of first.prompts()) break;
  await first.close();
  const [wire] = legacyAsking;
  const again = await (wire as (typeof legacyAsking)[0]).open(t);
  for (const [method, reply] of paging(["a", "b", undefined])) again.results.set(method, reply);
  const second = await again.connect();
  equal((await second.prompts().all()).length, 3);
  equal(again.requests("prompts/list")[0]?.params?.cursor, undefined);
});

verifies("pagination:client:loop-guard", askingServers, async (server) => {
  const endless = () => ({ prompts: [{ name: "p" }], nextCursor: "same", ttlMs: 60_000, cacheScope: "public" });
  server.results.set("prompts/list", endless);
  const client = await server.connect({ limits: { maxPages: 3 } });
  await rejects(client.prompts().all(), { code: "protocol_error", message: /cursor twice/ });
  equal(server.requests("prompts/list").length, 2);
  // Nothing of it was kept.
  await rejects(client.prompts().all(), { code: "protocol_error" });
  equal(server.requests("prompts/list").length, 4);
  let at = 0;
  server.results.set("prompts/list", () => ({ ...endless(), nextCursor: `c${at++}` }));
  await rejects(client.prompts({ cache: "bypass" }).all(), { code: "too_many_pages" });
  equal(at, 3);
});

verifies("pagination:client:params-threaded", askingServers, async (server) => {
  const client = await server.connect();
  for (const [method, reply] of paging(["a", "b", undefined])) server.results.set(method, reply);
  await client.prompts({ meta: { "x/y": 1 } }).all();
  const metas = server
    .requests("prompts/list")
    .map(({ params }) => ((params?._meta ?? {}) as Record<string, unknown>)["x/y"]);
  deepEqual(metas, [1, 1, 1]);
  const abort = new AbortController();
  const seen: string[] = [];
  const walk = async () => {
    for await (const { name } of client.resources({ signal: abort.signal })) {
      seen.push(name);
      abort.abort("enough");
    }
  };
  await rejects(walk(), (reason) => reason === "enough");
  deepEqual(seen, ["n0"]);
  equal(server.requests("resources/list").length, 1);
});

function full() {
  return new McpServer(me)
    .tool("t", {}, () => "x")
    .prompt("p", {}, () => "x")
    .resource("a:b", { name: "r" }, () => "x")
    .resource("a:{c}", { name: "r" }, () => "x");
}

verifies("pagination:invalid-cursor", channelWires, async (world) => {
  const client = await AskedClient.open(world, full());
  for (const [method] of LISTS) {
    for (const cursor of ["bogus", "", "p9z", "p0.x", "p99.x"]) {
      equal((await client.request(method, { cursor })).error?.code, -32602, `${method} ${cursor}`);
    }
  }
  const own = new McpServer(me).method("prompts/list", {}, ({ cursor }) => {
    if (cursor !== undefined) throw invalidCursor();
    return { prompts: [] };
  });
  const other = await AskedClient.open(world, own);
  equal((await other.request("prompts/list", { cursor: "x" })).error?.code, -32602);
});

verifies("pagination:server:page-size", channelWires, async (world) => {
  const make = (pageSize?: number) => {
    const server = new McpServer(me, pageSize === undefined ? {} : { pageSize });
    for (let n = 0; n < 25; n++) server.tool(`t${n}`, {}, () => "x");
    return server;
  };
  const client = await AskedClient.open(world, make(10));
  const sizes: number[] = [];
  let cursor: unknown;
  do {
    const { result = {} } = await client.request("tools/list", cursor === undefined ? {} : { cursor });
    sizes.push((result.tools as unknown[]).length);
    cursor = result.nextCursor;
    if (sizes.length === 3) equal("nextCursor" in result, false);
  } while (cursor !== undefined);
  deepEqual(sizes, [10, 10, 5]);
  const whole = (await (await AskedClient.open(world, make())).request("tools/list")).result ?? {};
  equal((whole.tools as unknown[]).length, 25);
  equal("nextCursor" in whole, false);
});

verifies("pagination:server:stable-cursors", channelWires, async (world) => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const make = (list: readonly string[]) => {
    const server = new McpServer(me, { pageSize: 3 });
    for (const name of list) server.prompt(name, {}, () => "x");
    return server;
  };
  const page = async (server: McpServer, cursor?: unknown) => {
    const client = await AskedClient.open(world, server);
    const { result = {} } = await client.request("prompts/list", cursor === undefined ? {} : { cursor });
    return { names: (result.prompts as { name: string }[]).map(({ name }) => name), cursor: result.nextCursor };
  };
  const first = await page(make(names));
  deepEqual(first.names, ["a", "b", "c"]);
  deepEqual((await page(make(["b", "c", "d", "e", "f", "new"]), first.cursor)).names, ["d", "e", "f"]);
  deepEqual((await page(make(["new", ...names]), first.cursor)).names, ["d", "e", "f"]);
  const changed = make(names);
  changed.removePrompt("c");
  changed.removePrompt("a");
  deepEqual((await page(changed, first.cursor)).names, ["d", "e", "f"]);
});

verifies("pagination:server:page-size", "every list has pages", eachWire, async ({ connect }) => {
  const server = new McpServer(me, { pageSize: 1 });
  for (const n of ["1", "2"]) {
    server.tool(`t${n}`, {}, () => "x").prompt(`p${n}`, {}, () => "x");
    server.resource(`a:${n}`, { name: n }, () => "x").resource(`b${n}:{x}`, { name: n }, () => "x");
  }
  const client = await connect(server);
  for (const [index, walk] of walks.entries()) {
    equal((await client[walk]().all()).length, 2);
    equal(client.wire.requests(LISTS[index]?.[0] ?? "").length, 2);
  }
});
