import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { Root } from "bowline";
import { RpcError } from "bowline/client";
import { type Context, inputRequired, McpServer } from "bowline/server";
import {
  channelWires,
  eachWire,
  legacyChannels,
  legacyWires,
  modernWires,
  type RecordedClient,
} from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { AskedClient } from "../../support/raw-client.js";
import { askingServers, legacyAsking } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const list = async (_: unknown, ctx: Context) => JSON.stringify(await ctx.listRoots());
const listing = () => new McpServer(me).tool("roots", {}, list);

/** The requests for roots that crossed the wire, by whichever way the era has. */
function askedOf({ wire }: RecordedClient, era: string): object[] {
  if (era === "modern") return Object.values(wire.responsesTo("tools/call")[0]?.result?.inputRequests ?? {});
  return wire.serverRequests("roots/list").map(({ method, params }) => ({ method, params }));
}

verifies("roots:capability:declared", eachWire, async ({ connect, era }) => {
  let seen: unknown;
  const server = new McpServer(me).tool("t", {}, (_, ctx) => {
    seen = ctx.client.capabilities.roots;
    return "x";
  });
  for (const [options, declared] of [
    [{}, undefined],
    [{ roots: [] }, era === "legacy" ? { listChanged: true } : {}],
    [{ roots: [], rootsListChanged: false }, {}],
  ] as const) {
    const client = await connect(server, options);
    await client.callTool("t");
    deepEqual(seen, declared);
    const sent = client.wire.requests(era === "legacy" ? "initialize" : undefined).map(({ params = {} }) => {
      const all = era === "legacy" ? params.capabilities : (params._meta as { [key: string]: unknown })[CAPABILITIES];
      return (all as { roots?: unknown }).roots;
    });
    ok(sent.length > 0);
    for (const roots of sent) deepEqual(roots, declared);
  }
});

verifies(["roots:list:basic", "roots:list:empty"], eachWire, async ({ connect, era }) => {
  const roots: Root[] = [{ uri: "file:///home/a", name: "A", _meta: { "x/y": 1 } }, { uri: "file:///home/b%20c" }];
  const client = await connect(listing(), { roots });
  deepEqual(JSON.parse((await client.callTool("roots")).text), roots);
  deepEqual(askedOf(client, era), [{ method: "roots/list", params: {} }]);
  const none = await connect(listing(), { roots: () => [] });
  deepEqual(JSON.parse((await none.callTool("roots")).text), []);
});

verifies("roots:list:basic", "with params that the author left out", eachWire, async ({ connect, era }) => {
  const server = new McpServer(me).tool("roots", {}, (_, ctx) =>
    ctx.inputResponses === undefined
      ? inputRequired({ inputRequests: { r: { method: "roots/list" } } })
      : JSON.stringify(ctx.inputResponses.r),
  );
  const client = await connect(server, { roots: [] });
  deepEqual(JSON.parse((await client.callTool("roots")).text), { roots: [] });
  deepEqual(askedOf(client, era), [{ method: "roots/list", params: {} }]);
});

verifies("roots:list:not-supported", legacyAsking, async (server) => {
  await server.connect();
  equal((await server.ask("roots/list")).code, -32601);
});

verifies("roots:list:server-gated", eachWire, async ({ connect, era }) => {
  const client = await connect(listing());
  if (era === "legacy") equal((await client.callTool("roots")).isError, true);
  else await rejects(client.callTool("roots"), { rpcCode: -32021, data: { requiredCapabilities: { roots: {} } } });
  equal(client.wire.serverRequests().length, 0);
});

verifies("roots:list:client-error", legacyWires, async ({ connect }) => {
  const caught: RpcError[] = [];
  const server = new McpServer(me).tool("roots", {}, async (_, ctx) => {
    await ctx.listRoots().catch((error) => caught.push(error));
    return "went on";
  });
  let thrown: Error = new Error("secret detail");
  const client = await connect(server, {
    roots: () => {
      throw thrown;
    },
    onError: () => {},
  });
  await client.callTool("roots");
  thrown = new RpcError(-32050, "not today");
  await client.callTool("roots");
  deepEqual(
    caught.map(({ rpcCode, message }) => [rpcCode, message]),
    [
      [-32603, "Internal error"],
      [-32050, "not today"],
    ],
  );
});

const foreign = ["http://x.test/", "C:\\x", "./relative"];
const climbing = [
  "file:///a/../../etc",
  "file:///a/%2e%2e/b",
  "file:///a/.%2E/b",
  "file:///a%2F..%2Fb",
  "file:///a%5Cb",
  "file:///a\\..\\b",
  "file:///a%00",
];

verifies(["roots:uri:file-scheme", "roots:uri:traversal"], "are not sent", askingServers, async (server) => {
  let uri = "";
  const problems: Error[] = [];
  await server.connect({ roots: () => [{ uri }], onError: (error) => problems.push(error) });
  for (uri of [...foreign, ...climbing]) {
    const reply = await server.ask("roots/list");
    equal(reply.answer, undefined, uri);
    if (server.era === "legacy") equal(reply.code, -32603);
    else match(reply.message ?? "", /\/roots\/0\/uri/);
  }
  for (uri of ["file:///home/me/my.project..old/a%20b", "file:///", "file:///C:/x"]) {
    deepEqual((await server.ask("roots/list")).answer, { roots: [{ uri }] });
  }
});

verifies(["roots:uri:file-scheme", "roots:uri:traversal"], "are refused on receipt", channelWires, async (world) => {
  const exposed: unknown[] = [];
  const server = new McpServer(me).tool("roots", {}, async (_, ctx) => {
    exposed.push(await ctx.listRoots());
    return "exposed";
  });
  for (const uri of [...foreign, ...climbing]) {
    const client = await AskedClient.open(world, server, {
      capabilities: { roots: {} },
      answer: () => ({ roots: [{ uri: "file:///fine" }, { uri }] }),
    });
    const { result, error } = await client.call("tools/call", { name: "roots" });
    // Where one more round can be had, the question is put again; what is no root at all is refused.
    if (world.era === "legacy") equal(result?.isError, true, uri);
    else if (foreign.includes(uri)) equal(error?.code, -32602, uri);
    else equal(result?.resultType, "input_required", uri);
  }
  deepEqual(exposed, []);
});

// Over HTTP questions travel on the streams of calls alone, so a handler there asks in its next call.
verifies("roots:list-changed", legacyChannels, async ({ connect }) => {
  const heard = gate<unknown>();
  const server = listing().onNotification("notifications/roots/list_changed", {}, async (_, ctx) => {
    heard.open(await ctx.listRoots());
  });
  let roots = [{ uri: "file:///old" }];
  const client = await connect(server, { roots: () => roots });
  roots = [{ uri: "file:///new" }];
  await client.rootsChanged();
  deepEqual(await heard.opened, [{ uri: "file:///new" }]);
});

verifies("roots:list-changed:client-emits", legacyWires, async ({ connect }) => {
  const heard = gate();
  const server = listing().onNotification("notifications/roots/list_changed", {}, () => heard.open());
  const client = await connect(server, { roots: [{ uri: "file:///old" }] });
  await client.setRoots([{ uri: "file:///new" }]);
  await heard.opened;
  equal(client.wire.notifications("client", "notifications/roots/list_changed").length, 1);
  deepEqual(JSON.parse((await client.callTool("roots")).text), [{ uri: "file:///new" }]);
  const silent = await connect(server, { roots: [], rootsListChanged: false });
  await rejects(silent.rootsChanged(), { code: "not_declared" });
  equal(silent.wire.notifications("client", "notifications/roots/list_changed").length, 0);
});

verifies("roots:list-changed:removed-modern", modernWires, async ({ connect }) => {
  const client = await connect(listing(), { roots: [{ uri: "file:///old" }] });
  await client.setRoots([{ uri: "file:///new" }]);
  deepEqual(JSON.parse((await client.callTool("roots")).text), [{ uri: "file:///new" }]);
  equal(client.wire.notifications("client").length, 0);
});
