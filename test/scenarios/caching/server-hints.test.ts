import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { inputRequired, McpServer, type ServerOptions } from "bowline/server";
import { eachWire, legacyChannels, modernWires, type RecordedClient } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

function everyKind(options: ServerOptions = {}): McpServer {
  const server = new McpServer(me, options);
  server
    .tool("t", {}, () => "t")
    .prompt("p", { complete: { a: () => [] } }, () => "p")
    .resource("r://1", { name: "r" }, () => "r")
    .resource("f://{id}", { name: "f" }, () => "f");
  return server;
}

/** The hints on the wire of the last answer to a method. */
function hintsOf(client: RecordedClient, method: string): unknown {
  const { ttlMs, cacheScope } = client.wire.responsesTo(method).at(-1)?.result ?? {};
  return [ttlMs, cacheScope];
}

verifies(["caching:hints:required", "caching:defaults"], modernWires, async ({ connect }) => {
  const client = await connect(everyKind());
  await client.request("server/discover");
  for (const method of LISTS) await client.request(method);
  await client.readResource("r://1");
  for (const method of ["server/discover", ...LISTS, "resources/read"]) {
    deepEqual(hintsOf(client, method), [0, "private"], method);
  }
  const low = new McpServer(me)
    .method("tools/list", {}, () => ({ tools: [] }))
    .method("prompts/list", {}, () => ({ prompts: [] }))
    .method("resources/list", {}, () => ({ resources: [] }))
    .method("resources/templates/list", {}, () => ({ resourceTemplates: [] }))
    .method("resources/read", {}, () => ({ contents: [] }));
  const other = await connect(low);
  for (const method of LISTS) await other.request(method);
  await other.readResource("r://1");
  for (const method of [...LISTS, "resources/read"]) deepEqual(hintsOf(other, method), [0, "private"], method);
});

verifies("caching:hints:only-cacheable", modernWires, async ({ connect }) => {
  const client = await connect(everyKind({ cache: { ttlMs: 5, scope: "public" } }));
  await client.callTool("t");
  await client.getPrompt("p");
  await client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" });
  for (const method of ["tools/call", "prompts/get", "completion/complete"]) {
    const result = client.wire.responsesTo(method).at(-1)?.result ?? {};
    ok(!("ttlMs" in result) && !("cacheScope" in result), method);
  }
});

verifies("caching:hints:not-on-input-required", modernWires, async ({ connect }) => {
  const inputRequests = { q: { method: "roots/list" as const } };
  const server = new McpServer(me, { cache: { ttlMs: 9, scope: "public" } }).resource(
    "r://1",
    { name: "r", cache: { ttlMs: 7 } },
    (_, ctx) => (ctx.inputResponses === undefined ? inputRequired({ inputRequests }) : "read"),
  );
  const client = await connect(server, { roots: [] });
  await client.readResource("r://1");
  const [first, second] = client.wire.responsesTo("resources/read").map(({ result }) => result ?? {});
  equal(first?.resultType, "input_required");
  ok(first !== undefined && !("ttlMs" in first) && !("cacheScope" in first));
  deepEqual([second?.ttlMs, second?.cacheScope], [7, "public"]);
});

const badTtls: readonly unknown[] = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "60"];
const badScopes: readonly unknown[] = ["shared", "Public", null];

proves(["caching:ttl:non-negative", "caching:scope:valid"], {}, "refused when configured", () => {
  for (const bad of badTtls) {
    const ttlMs = bad as number;
    throws(() => new McpServer(me, { cache: { ttlMs } }), RangeError);
    throws(() => new McpServer(me, { cache: { methods: { "tools/list": { ttlMs } } } }), RangeError);
    throws(() => new McpServer(me).resource("r://1", { name: "r", cache: { ttlMs } }, () => ""), RangeError);
  }
  for (const bad of badScopes) {
    const scope = bad as "public";
    throws(() => new McpServer(me, { cache: { scope } }), RangeError);
    throws(() => new McpServer(me).resource("r://1", { name: "r", cache: { scope } }, () => ""), RangeError);
  }
});

verifies(
  ["caching:ttl:non-negative", "caching:scope:valid"],
  "a handler's are put right",
  modernWires,
  async ({ connect }) => {
    const reports: unknown[] = [];
    let hints: Record<string, unknown> = {};
    const options: ServerOptions = { cache: { ttlMs: 11, scope: "public" }, onError: (error) => reports.push(error) };
    const server = new McpServer(me, options)
      .resource("r://1", { name: "r" }, () => ({ contents: [], ...hints }) as never)
      .method("tools/list", {}, () => ({ tools: [], ...hints }));
    const client = await connect(server);
    for (const bad of [...badTtls.map((ttlMs) => ({ ttlMs })), ...badScopes.map((cacheScope) => ({ cacheScope }))]) {
      hints = bad;
      await client.readResource("r://1", { cache: "refresh" });
      deepEqual(hintsOf(client, "resources/read"), [11, "public"]);
      await client.listTools(undefined, { cache: "refresh" });
      deepEqual(hintsOf(client, "tools/list"), [11, "public"]);
      ok(reports.length === 2 && reports.every((error) => error instanceof RangeError));
      reports.length = 0;
    }
  },
);

verifies("caching:scope:consistent-pages", modernWires, async ({ connect }) => {
  const paged = (options: ServerOptions, visible?: () => boolean) => {
    const server = new McpServer(me, { ...options, pageSize: 1 });
    const access = visible === undefined ? {} : { visible };
    for (const name of ["a", "b", "c"]) server.tool(name, name === "c" ? access : {}, () => "");
    return server;
  };
  const scopes = async (make: () => McpServer) => {
    const [one, other] = [await connect(make()), await connect(make())];
    const first = await one.listTools();
    const rest = await other.listTools(first.nextCursor);
    await one.tools({ cache: "refresh" }).all();
    const pages = one.wire.responsesTo("tools/list").map(({ result }) => result?.cacheScope);
    return new Set([...pages, rest.cacheScope]);
  };
  deepEqual(await scopes(() => paged({ cache: { scope: "public" } })), new Set(["public"]));
  deepEqual(await scopes(() => paged({ cache: { scope: "private" } })), new Set(["private"]));
  deepEqual(await scopes(() => paged({ cache: { scope: "public" } }, () => true)), new Set(["private"]));
});

verifies("caching:config:precedence", modernWires, async ({ connect }) => {
  const server = new McpServer(me, {
    cache: {
      ttlMs: 1,
      methods: { "resources/read": { ttlMs: 2, scope: "public" }, "prompts/list": { scope: "public" } },
    },
  })
    .tool("t", {}, () => "")
    .prompt("p", {}, () => "")
    .resource("r://method", { name: "a" }, () => "")
    .resource("r://own", { name: "b", cache: { ttlMs: 3 } }, () => "")
    .resource("r://scope", { name: "c", cache: { scope: "private" } }, () => "")
    .resource(
      "r://handler",
      { name: "d", cache: { ttlMs: 3, scope: "private" } },
      () => ({ contents: [], ttlMs: 4 }) as never,
    )
    .resource(
      "r://both",
      { name: "e", cache: { ttlMs: 3 } },
      () => ({ contents: [], ttlMs: 0, cacheScope: "private" }) as never,
    );
  const client = await connect(server);
  const read = async (uri: string) => {
    await client.readResource(uri);
    return hintsOf(client, "resources/read");
  };
  deepEqual(await read("r://method"), [2, "public"]);
  deepEqual(await read("r://own"), [3, "public"]);
  deepEqual(await read("r://scope"), [2, "private"]);
  deepEqual(await read("r://handler"), [4, "private"]);
  deepEqual(await read("r://both"), [0, "private"]);
  await client.listTools();
  deepEqual(hintsOf(client, "tools/list"), [1, "private"]);
  await client.request("prompts/list");
  deepEqual(hintsOf(client, "prompts/list"), [1, "public"]);
});

verifies("caching:config:not-leaked", eachWire, async ({ connect }) => {
  const server = new McpServer(me).resource("r://1", { name: "r", cache: { ttlMs: 5, scope: "public" } }, () => "");
  const client = await connect(server);
  deepEqual(await client.resources().all(), [{ uri: "r://1", name: "r" }]);
});

verifies("caching:legacy-no-hints", legacyChannels, async (world) => {
  const server = everyKind({ cache: { ttlMs: 5, scope: "public" } });
  server.resource(
    "r://own",
    { name: "own", cache: { ttlMs: 9 } },
    () => ({ contents: [], ttlMs: 4, resultType: "complete" }) as never,
  );
  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    const client = await AskedClient.open(world, server, { version });
    const results = [
      ...(await Promise.all(LISTS.map((method) => client.result(method)))),
      await client.result("resources/read", { uri: "r://1" }),
      await client.result("resources/read", { uri: "r://own" }),
      await client.result("tools/call", { name: "t" }),
      await client.result("prompts/get", { name: "p" }),
    ];
    for (const result of results) {
      for (const member of ["ttlMs", "cacheScope", "resultType"]) ok(!(member in result), member);
    }
  }
});

verifies("caching:hints:without-list-changed", modernWires, async ({ connect }) => {
  const server = new McpServer(me, { cache: { ttlMs: 5000 }, capabilities: { tools: { listChanged: false } } });
  server.tool("t", {}, () => "");
  const client = await connect(server);
  await client.listTools();
  deepEqual(hintsOf(client, "tools/list"), [5000, "private"]);
  await client.listTools();
  equal(client.wire.requests("tools/list").length, 1);
});
