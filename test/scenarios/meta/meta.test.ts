import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { isMetaKey, isReservedMetaKey } from "bowline";
import { connect } from "bowline/client";
import { inputRequired, McpServer, RpcError, toolResult } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import * as z from "zod";
import {
  channelWires,
  createPipePair,
  eachWire,
  legacyWires,
  modernChannels,
  modernWires,
} from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { MODERN_VERSION, RawClient, RawPeer, scriptedServers, toolText } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
const vendor = {
  "com.example/nested": { a: [1, { b: null }], c: false },
  "com.example/null": null,
  "com.example/false": false,
  plain: "text",
};
const future = { "io.modelcontextprotocol/future-key": [1, null, { x: 2 }], "dev.mcp/number": 5, "dev.mcp/null": null };

function without(meta: unknown, ...keys: string[]): unknown {
  return Object.fromEntries(Object.entries((meta ?? {}) as object).filter(([key]) => !keys.includes(key)));
}

verifies(["meta:request-to-handler", "meta:reserved-opaque"], eachWire, async ({ connect: dial, era }) => {
  let seen: Record<string, unknown> = {};
  const server = new McpServer(me)
    .tool("t", {}, (_, ctx) => {
      seen = ctx.meta ?? {};
    })
    .method("vendor/m", {}, (_, ctx) => {
      seen = ctx.meta ?? {};
    });
  const client = await dial(server);
  for (const method of ["tools/call", "vendor/m"]) {
    await client.request(method as string, { name: "t", _meta: vendor }, { meta: future, onProgress: () => {} });
    for (const [key, value] of Object.entries({ ...vendor, ...future })) deepEqual(seen[key], value, key);
    ok("progressToken" in seen);
    equal("io.modelcontextprotocol/protocolVersion" in seen, era === "modern");
  }
});

verifies(["meta:result-to-client", "meta:reserved-opaque"], eachWire, async ({ connect: dial, era }) => {
  const meta = { ...vendor, ...future };
  const server = new McpServer(me)
    .tool("t", {}, () => toolResult({ content: [], _meta: meta }))
    .method("vendor/m", {}, () => ({ _meta: meta }))
    .prompt("p", {}, () => ({ messages: [], _meta: meta }) as never)
    .resource("r:1", { name: "r" }, () => ({ contents: [], _meta: meta }) as never);
  const client = await dial(server);
  deepEqual(without((await client.callTool("t")).meta, SERVER_INFO), meta);
  for (const [method, params] of [
    ["vendor/m", {}],
    ["prompts/get", { name: "p" }],
    ["resources/read", { uri: "r:1" }],
  ] as const) {
    const { _meta } = (await client.request(method as string, params)) as { _meta?: object };
    deepEqual(without(_meta, SERVER_INFO), meta, method);
    equal(SERVER_INFO in (_meta ?? {}), era === "modern");
  }
});

verifies(["meta:notification-passthrough", "meta:reserved-opaque"], eachWire, async ({ connect: dial }) => {
  const atServer = gate<unknown>();
  const atClient: unknown[] = [];
  const meta = { ...vendor, ...future };
  const server = new McpServer(me)
    .onNotification("vendor/up", {}, (params) => atServer.open(params._meta))
    .tool("t", { meta }, async (_, ctx) => {
      await ctx.notify("vendor/down", { _meta: meta });
      return [{ type: "text", text: "x", _meta: meta }];
    })
    .prompt("p", { meta }, () => ({ messages: [{ role: "user", content: { type: "text", text: "x", _meta: meta } }] }))
    .resource("r:1", { name: "r", meta }, () => "x")
    .resource("r:{n}/x", { name: "rt", meta }, () => "x");
  const client = await dial(server, { onNotification: ({ params }) => void atClient.push(params?._meta) });
  await client.notify("vendor/up", { _meta: meta });
  deepEqual(await atServer.opened, meta);
  const { content } = await client.callTool("t");
  deepEqual(atClient, [meta]);
  deepEqual(content[0]?._meta, meta);
  deepEqual((await client.listTools()).tools[0]?._meta, meta);
  deepEqual((await client.request("prompts/list")).prompts[0]?._meta, meta);
  deepEqual((await client.request("resources/list")).resources[0]?._meta, meta);
  deepEqual((await client.request("resources/templates/list")).resourceTemplates[0]?._meta, meta);
  deepEqual((await client.getPrompt("p")).messages[0]?.content._meta, meta);
});

proves("meta:key-format", {}, "the grammar", () => {
  for (const key of ["com.example/key", "key", "a.b-c/x_y.z", "com.example/", "a/1"]) ok(isMetaKey(key), key);
  const wrong = ["1a.b/k", "a-.b/k", "a..b/k", "/k", "com.example/-k", "com.example/k_", "a/b/c", "a b", "-k", "k."];
  for (const key of wrong) ok(!isMetaKey(key), key);
});

proves("meta:reserved-prefix", {}, "the second label decides", () => {
  for (const key of ["io.modelcontextprotocol/", "dev.mcp/", "org.modelcontextprotocol.api/", "com.mcp.tools/x"]) {
    ok(isReservedMetaKey(key), key);
  }
  const free = [
    "com.example.mcp/",
    "mcp/",
    "modelcontextprotocol.io/",
    "com.example/k",
    "mcp",
    "dev.mcp",
    "dev.mcpx/a",
  ];
  for (const key of free) ok(!isReservedMetaKey(key), key);
});

/** The reserved keys that the protocol defines. */
const DEFINED = ["protocolVersion", "clientInfo", "clientCapabilities", "logLevel", "serverInfo", "subscriptionId"];

verifies(["meta:key-format", "meta:reserved-prefix"], eachWire, async ({ connect: dial }) => {
  const server = new McpServer(me, { capabilities: { logging: true } }).tool("t", {}, async (_, ctx) => {
    await ctx.progress(1);
    await ctx.log("error", "x");
    return "x";
  });
  const client = await dial(server);
  await client.setLogLevel("debug");
  const watch = await client.watch({ toolsListChanged: true });
  await client.callTool("t", {}, { onProgress: () => {} });
  await client.listTools();
  await watch.close();
  const keys = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "_meta") for (const metaKey of Object.keys(inner as object)) keys.add(metaKey);
      collect(inner);
    }
  };
  for (const { message } of client.wire.frames) collect(message);
  ok(keys.has("progressToken"));
  for (const key of keys) {
    ok(isMetaKey(key), key);
    if (isReservedMetaKey(key)) ok(DEFINED.includes(key.split("/")[1] ?? ""), key);
  }
});

verifies("meta:absent-tolerated", channelWires, async (world) => {
  const seen: unknown[] = [];
  const reported: unknown[] = [];
  // A server of both kinds takes a request without its envelope for one of an earlier version.
  const only = world.era === "modern" ? ({ versions: ["2026-07-28"] } as const) : {};
  const server = new McpServer(me, { ...only, onError: (error) => reported.push(error) })
    .tool("t", {}, () => "x")
    .method("vendor/m", {}, () => ({}))
    .onNotification("vendor/n", {}, (params) => void seen.push(params));
  const client = await RawClient.open(world, server);
  client.notify("vendor/n", { a: 1 });
  client.notify("vendor/n", { a: 2, _meta: "x" });
  await client.barrier();
  deepEqual(seen, [{ a: 1 }]);
  equal(reported.length, 1);
  if (world.era === "legacy") ok((await client.request(1, "tools/list")).result);
  for (const [method, own] of [
    ["tools/list", {}],
    ["tools/call", { name: "t" }],
    ["vendor/m", {}],
  ] as const) {
    for (const _meta of ["x", 5, []]) {
      const answered = client.peer.answerTo(2);
      client.peer.send({ id: 2, method, params: { ...own, _meta } });
      equal((await answered).error?.code, -32602, method);
    }
  }
});

verifies("meta:absent-tolerated", "by a client", scriptedServers, async ({ peer, connect: dial }) => {
  const problems: unknown[] = [];
  const seen: unknown[] = [];
  const client = await dial({
    onError: (error) => problems.push(error),
    onNotification: ({ params }) => void seen.push(params),
  });
  const call = client.callTool("x");
  const { id } = await peer.asked("tools/call");
  peer.send({ method: "vendor/n", params: { a: 1 } });
  peer.send({ method: "vendor/n", params: { a: 2, _meta: "x" } });
  peer.send({ id, result: toolText("no meta") });
  equal((await call).text, "no meta");
  deepEqual(seen, [{ a: 1 }]);
  equal(problems.length, 1);
  const bad = client.callTool("x");
  const second = await peer.asked("tools/call");
  peer.send({ id: second.id, result: { ...toolText("bad"), _meta: "x" } });
  await rejects(bad, { code: "invalid_result" });
});

verifies("protocol:meta:server-identity", modernWires, async ({ connect: dial }) => {
  const own = Object.freeze({ "com.example/k": 1 });
  const authored = { name: "another", version: "9" };
  const define = (identify: boolean) =>
    new McpServer(me, { identify })
      .tool("t", {}, () => toolResult({ content: [], _meta: own }))
      .tool("authored", {}, () => toolResult({ content: [], _meta: { [SERVER_INFO]: authored } }))
      .tool("asks", {}, () => inputRequired({ inputRequests: { q: { method: "roots/list" } } }))
      .tool("fails", {}, () => {
        throw new RpcError(4001, "no");
      })
      .method("vendor/empty", {}, () => undefined);
  for (const identify of [true, false]) {
    const client = await dial(define(identify), { roots: [], limits: { maxRounds: 0 } });
    await client.request("server/discover");
    await client.listTools();
    const called = await client.callTool("t");
    await client.request("vendor/empty");
    await client.callTool("asks").catch(() => {});
    await rejects(client.callTool("fails"), { rpcCode: 4001 });
    const results = client.wire.frames.flatMap(({ from, message }) => {
      return from === "server" && message?.result !== undefined ? [message.result] : [];
    });
    ok(results.length >= 5);
    for (const { _meta } of results) {
      deepEqual((_meta as Record<string, unknown> | undefined)?.[SERVER_INFO], identify ? me : undefined);
    }
    ok(results.some(({ resultType }) => resultType === "input_required"));
    deepEqual(without(called.meta, SERVER_INFO), own);
    const errors = client.wire.frames.filter(({ message }) => message?.error !== undefined);
    for (const { text } of errors) ok(!text.includes("serverInfo"));
    deepEqual((await client.callTool("authored")).meta?.[SERVER_INFO], authored);
  }
  deepEqual(own, { "com.example/k": 1 });
});

verifies("protocol:meta:server-identity", "not before", legacyWires, async ({ connect: dial }) => {
  const client = await dial(new McpServer(me).tool("t", {}, () => "x"));
  await client.callTool("t");
  await client.listTools();
  for (const { text } of client.wire.frames) ok(!text.includes(SERVER_INFO));
});

verifies("protocol:meta:server-identity-read", modernChannels, async ({ transport }, t) => {
  const info = { name: "told", version: "3" };
  for (const [extra, expected] of [
    [{ _meta: { [SERVER_INFO]: info } }, info],
    [{ serverInfo: info }, undefined],
    [{}, undefined],
    [{ _meta: { [SERVER_INFO]: "told" } }, undefined],
    [{ _meta: { [SERVER_INFO]: { name: 5 } } }, undefined],
    [{ _meta: { [SERVER_INFO]: null } }, undefined],
  ] as const) {
    const [ours, theirs] = transport === "stdio" ? createPipePair() : createChannelPair();
    const peer = await RawPeer.open(theirs);
    const connecting = connect({ channel: ours }, { era: "modern" });
    const { id } = await peer.asked("server/discover");
    const result = { supportedVersions: [MODERN_VERSION], capabilities: {}, ttlMs: 0, cacheScope: "private", ...extra };
    peer.send({ id, result: { resultType: "complete", ...result } });
    const client = await connecting;
    t.after(() => client.close());
    deepEqual(client.server.info, expected);
  }
});

verifies("protocol:meta:identity-no-behaviour", modernWires, async ({ connect: dial }) => {
  const traffic: unknown[] = [];
  for (const name of ["honest", "claude-desktop", "admin", "constructor", ""]) {
    const info = { name, version: name === "" ? "" : "0.0.1" };
    const server = new McpServer(info).tool("ask", { input: z.object({}) }, async (_, ctx) => {
      await ctx.progress(1);
      const roots = await ctx.listRoots();
      return String(roots.length);
    });
    const client = await dial(server, { info, roots: [] });
    await client.callTool("ask", {}, { onProgress: () => {} });
    await client.listTools();
    await rejects(client.readResource("a:b"), { rpcCode: -32601 });
    traffic.push(client.wire.frames.map(({ from, message }) => [from, anonymous(message)]));
    await client.close();
  }
  for (const other of traffic.slice(1)) deepEqual(other, traffic[0]);
});

/** A message without identities, and without what is sealed anew each time. */
function anonymous(message: unknown): unknown {
  const hidden = [SERVER_INFO, "io.modelcontextprotocol/clientInfo", "requestState"];
  return JSON.parse(JSON.stringify(message, (key, value) => (hidden.includes(key) ? undefined : value)));
}

verifies("protocol:meta:identity-no-behaviour", "a client without one", modernChannels, async (world) => {
  const server = new McpServer(me).tool("t", {}, (_, ctx) => ctx.client.info?.name ?? "unknown");
  const client = await RawClient.open(world, server);
  const answers: unknown[] = [];
  for (const clientInfo of [undefined, { name: "x", version: "1" }, "not an identity", { name: 5 }]) {
    const meta = clientInfo === undefined ? {} : { "io.modelcontextprotocol/clientInfo": clientInfo };
    answers.push((await client.request(1, "tools/list", {}, meta)).result);
  }
  for (const answer of answers.slice(1)) deepEqual(answer, answers[0]);
});
