import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { authOf } from "bowline/auth/server";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { gate as door } from "../../support/gate.js";
import {
  type Guarded,
  type GuardedWorld,
  guardedEverywhere,
  guardedHttp,
  guardedLegacy,
  guardedSse,
  toInfo,
} from "../../support/guarded.js";
import { modernRequest } from "../../support/modern-request.js";
import { SseStream } from "../../support/sse-stream.js";
import { verifies } from "../../support/verifies.js";

const text = { "content-type": "application/json", accept: "application/json, text/event-stream" };

verifies("hosting:auth:gate-before-processing", guardedEverywhere, async (world) => {
  const { server, send, seen, knock } = await world.guard();
  const bodies = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } },
    modernRequest("tools/call", { params: { name: "who", arguments: {} } }).body,
    modernRequest("tools/list").body,
    [{ jsonrpc: "2.0", id: 1, method: "tools/list" }],
  ].map((body) => JSON.stringify(body));
  for (const body of [...bodies, "{ not json", "x".repeat(5_000_000)]) {
    const refused = await send("/mcp", { method: "POST", headers: text, body });
    equal(refused.status, 401);
    const answer = await refused.text();
    ok(!/jsonrpc|who|write/.test(answer), answer);
  }
  const stream = await send(world.transport === "sse" ? "/sse" : "/mcp", { headers: { accept: "text/event-stream" } });
  equal(stream.status, 401);
  await stream.body?.cancel();
  equal((await knock({ authorization: "Bearer bad" })).status, 401);
  deepEqual(seen, []);
  const { sessions = 0, streams = 0, running = 0, connections = 0, openRequests = 0 } = server.stats();
  deepEqual([sessions, streams, running, connections, openRequests], [0, 0, 0, 0, 0]);
});

/** Opens a session by hand and returns what names it. */
async function open({ knock }: Guarded, token: string): Promise<Record<string, string>> {
  const { status, headers } = await knock({ authorization: `Bearer ${token}` });
  equal(status, 200);
  return { ...text, "mcp-session-id": headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
}

const ASK = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "who", arguments: {} } });

verifies("hosting:auth:every-request", "a session is no credential", guardedLegacy, async (world) => {
  const guarded = await world.guard({ http: { resumable: true } });
  const { send, seen } = guarded;
  const session = await open(guarded, "good");
  const authorization = "Bearer good";
  const call = { method: "POST", headers: session, body: ASK };
  equal((await send("/mcp", call)).status, 401);
  const first = await send("/mcp", { ...call, headers: { ...session, authorization } });
  equal(first.status, 200);
  const eventId = /^id: (.+)$/m.exec(await first.text())?.[1];
  ok(eventId !== undefined);
  equal((await send("/mcp", { headers: { ...session, "last-event-id": eventId } })).status, 401);
  world.tokens.delete("good");
  equal((await send("/mcp", { ...call, headers: { ...session, authorization } })).status, 401);
  equal((await send("/mcp", { method: "DELETE", headers: { ...session, authorization } })).status, 401);
  equal(seen.length, 1);
});

verifies("hosting:auth:every-request", "an earlier success is no credential", guardedHttp, async (world) => {
  let header = "Bearer good";
  const { client, seen } = await world.guard();
  const connected = await client(() => header);
  equal((await connected.callTool("who")).isError, false);
  header = "";
  await rejects(connected.callTool("who"), { name: "ConnectionError", status: 401 });
  header = "Bearer good";
  await connected.callTool("who");
  world.tokens.delete("good");
  await rejects(connected.callTool("who"), { name: "ConnectionError", status: 401 });
  equal(seen.length, 2);
});

verifies(
  ["hosting:auth:every-request", "hosting:auth:session-principal", "hosting:auth:authinfo-per-request"],
  "each message that is posted is its sender's own",
  guardedSse,
  async (world, t) => {
    world.tokens.set("refreshed", {});
    world.tokens.set("other", { subject: "bert" });
    const { server, send, seen } = await world.guard();
    const url = new URL((await send("/nowhere")).url);
    url.pathname = "/sse";
    const stream = await SseStream.open(t, url, { authorization: "Bearer good" });
    await stream.initialize();
    const post = async (authorization: string) => {
      const headers = { "content-type": "application/json", ...(authorization === "" ? {} : { authorization }) };
      const response = await fetch(stream.address, { method: "POST", headers, body: ASK });
      return [response.status, await response.text()];
    };
    equal((await post(""))[0], 401);
    const unknown = new URL(stream.address);
    unknown.searchParams.set("sessionId", "00000000-0000-4000-8000-000000000000");
    const missing = await stream.post(ASK, {}, unknown);
    deepEqual(await post("Bearer other"), [missing.status, await missing.text()]);
    equal(missing.status, 404);
    equal((await post("Bearer refreshed"))[0], 202);
    equal((await stream.message()).id, 7);
    equal((await post("Bearer good"))[0], 202);
    equal((await stream.message()).id, 7);
    deepEqual(seen, [toInfo("refreshed"), toInfo("good")]);
    world.tokens.delete("good");
    equal((await post("Bearer good"))[0], 401);
    equal(server.stats().sessions, 1);
  },
);

verifies("hosting:auth:authinfo-propagates", guardedEverywhere, async (world) => {
  const info = { scopes: ["a"], claims: { tenant: "t1", groups: ["x"] }, audience: ["https://mcp.example/mcp"] };
  world.tokens.set("rich", info);
  const found: unknown[] = [];
  const { client, seen } = await world.guard({
    define: (server) =>
      server.tool("mine", {}, (_, ctx) => {
        const { subject, clientId, claims } = authOf(ctx);
        found.push(ctx.principal);
        return `${subject} by ${clientId} of ${claims?.tenant}`;
      }),
  });
  const connected = await client(() => "Bearer rich");
  equal((await connected.callTool("mine")).text, "ada by client-1 of t1");
  const result = await connected.callTool("who");
  deepEqual(JSON.parse(result.text), toInfo("rich", info));
  deepEqual(seen, [toInfo("rich", info)]);
  deepEqual(found, ['["https://login.example","client-1","ada"]']);
  // A channel has no gate.
  const bare = new McpServer({ name: "bare", version: "1" }).tool("who", {}, (_, ctx) => String(ctx.auth));
  const [ours, theirs] = createChannelPair();
  await bare.accept(theirs);
  const other = await connect({ channel: ours }, { era: world.era });
  equal((await other.callTool("who")).text, "undefined");
  await other.close();
  await bare.close();
});

async function interleave(world: GuardedWorld): Promise<unknown[]> {
  world.tokens.set("refreshed", { scopes: ["more"] });
  const entered = door();
  const leave = door();
  const found: unknown[] = [];
  let header = "Bearer good";
  const { client } = await world.guard({
    define: (server) =>
      server.tool("slow", {}, async (_, ctx) => {
        entered.open();
        await leave.opened;
        found.push((ctx.auth as { token: string }).token);
        return "";
      }),
  });
  const connected = await client(() => header);
  const slow = connected.callTool("slow");
  await entered.opened;
  header = "Bearer refreshed";
  const quick = JSON.parse((await connected.callTool("who")).text) as { token: string };
  leave.open();
  await slow;
  return [quick.token, ...found];
}

verifies("hosting:auth:authinfo-per-request", "two calls at once on one connection", guardedHttp, async (world) => {
  deepEqual(await interleave(world), ["refreshed", "good"]);
  const open = await world.guard({ http: { gate: async () => ({}) } });
  const connected = await open.client(() => "Bearer good");
  equal((await connected.callTool("who")).text, "null");
});

verifies("hosting:auth:cors-expose", guardedHttp, async (world) => {
  world.tokens.set("poor", { scopes: [] });
  const origin = "https://app.example";
  const { send, knock } = await world.guard({
    protect: { scopes: ["a"] },
    http: { cors: true, allowedOrigins: [origin] },
  });
  const preflight = await send("/mcp", {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, dpop",
    },
  });
  equal(preflight.status, 204);
  ok(/authorization.*\bdpop\b/.test(preflight.headers.get("access-control-allow-headers") ?? ""));
  for (const [authorization, status] of [
    [undefined, 401],
    ["Bearer bad", 401],
    ["Bearer poor", 403],
  ] as const) {
    const refused = await knock({ origin, authorization });
    equal(refused.status, status);
    equal(refused.headers.get("access-control-allow-origin"), origin);
    ok(refused.headers.get("access-control-expose-headers")?.includes("www-authenticate"));
    ok(refused.headers.get("access-control-expose-headers")?.includes("dpop-nonce"));
  }
});
