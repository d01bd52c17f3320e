import { deepEqual, doesNotMatch, equal, match, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { modernServer } from "#src/era/modern/server/era.js";
import type { ServerEra } from "#src/era/server-era.js";
import { MemoryEventLog } from "#src/store/event-log.js";
import { defineServer, eachHost, faultOf, listen, resultOf, type Send } from "../../support/modern-hosts.js";
import { modernRequest, type RequestInit, sseMessages } from "../../support/modern-request.js";
import { proves, verifies } from "../../support/verifies.js";

const bothEras: readonly ServerEra[] = [modernServer, legacyServer];
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const plainHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function createDual() {
  const ran: (string | undefined)[] = [];
  const server = defineServer({}, bothEras).tool("echo", {}, (_, ctx) => {
    ran.push(ctx.sessionId);
    return "hi";
  });
  return { server, ran };
}

const call = (init: RequestInit = {}) =>
  modernRequest("tools/call", { ...init, params: { name: "echo", arguments: {} } });

/** Opens a session of the handshake era. */
async function handshake(send: Send): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1.0.0" } };
  const opened = await send({ headers: plainHeaders, body: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
  equal(opened.status, 200);
  await opened.text();
  const headers = {
    ...plainHeaders,
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  const initialized = await send({ headers, body: { jsonrpc: "2.0", method: "notifications/initialized" } });
  equal(initialized.status, 202);
  return headers;
}

verifies("hosting:http:dual:opening-decides", "both eras on one endpoint", eachHost, async ({ serve }) => {
  const { server, ran } = createDual();
  const send = await serve(server);
  equal((await resultOf(await send(call()))).resultType, "complete");
  const session = await handshake(send);
  const old = await send({
    headers: session,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {} } },
  });
  const text = await old.text();
  const answer = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : sseMessages(text).at(-1);
  deepEqual(answer?.result, { content: [{ type: "text", text: "hi" }] });
  equal((await resultOf(await send(call()))).resultType, "complete");
  deepEqual(ran, [undefined, session["mcp-session-id"], undefined]);
});

verifies(
  "hosting:http:modern:session-id-ignored",
  "the id of a live session changes nothing",
  eachHost,
  async ({ serve }) => {
    const { server, ran } = createDual();
    const send = await serve(server);
    const live = (await handshake(send))["mcp-session-id"];
    for (const id of [live, "dead"]) {
      const response = await send(call({ headers: { "mcp-session-id": id } }));
      equal(response.status, 200);
      equal(response.headers.get("mcp-session-id"), null);
      await response.text();
    }
    deepEqual(ran, [undefined, undefined]);
  },
);

verifies(
  "hosting:http:modern:removed-method-status-404",
  "what only older versions have is unknown",
  eachHost,
  async ({ serve }) => {
    const send = await serve(createDual().server);
    for (const [method, params] of [
      ["ping", {}],
      ["initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } }],
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "note://1" }],
      ["resources/unsubscribe", { uri: "note://1" }],
    ] as const) {
      const response = await send(modernRequest(method, { params }));
      equal(response.headers.get("mcp-session-id"), null);
      deepEqual(await faultOf(response), [404, -32601, 1], method);
    }
  },
);

verifies("hosting:http:modern:version-header-missing", "on an endpoint of both eras", eachHost, async ({ serve }) => {
  const { server, ran } = createDual();
  const send = await serve(server);
  deepEqual(await faultOf(await send(call({ headers: { "mcp-protocol-version": undefined } }))), [400, -32020, 1]);
  deepEqual(ran, []);
});

verifies("hosting:http:dual:modern-header-legacy-body", eachHost, async ({ serve }) => {
  const { server, ran } = createDual();
  const send = await serve(server);
  const headers = {
    ...plainHeaders,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "echo",
  };
  const bare = await send({ headers, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } } });
  equal(bare.status, 400);
  const { error } = (await bare.json()) as { error: { code: number; message: string } };
  equal(error.code, -32602);
  match(error.message, /_meta/);
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1" } };
  const opening = await send({
    headers: { ...headers, "mcp-method": "initialize" },
    body: { jsonrpc: "2.0", id: 2, method: "initialize", params },
  });
  equal(opening.headers.get("mcp-session-id"), null);
  deepEqual(await faultOf(opening), [400, -32020, 2]);
  deepEqual(ran, []);
});

verifies("hosting:http:dual:claim-rules", eachHost, async ({ serve }) => {
  const send = await serve(createDual().server);
  const claim = (value: unknown, version: string | undefined) =>
    modernRequest("tools/list", { meta: { [VERSION_KEY]: value }, headers: { "mcp-protocol-version": version } });
  const statusOf = async (request: Parameters<Send>[0]) => {
    const response = await send(request);
    const text = await response.text();
    return [response.status, /"code":(-?\d+)/.exec(text)?.[1]];
  };
  deepEqual(await statusOf(claim("2026-07-28", undefined)), [400, "-32020"], "the claim alone");
  deepEqual(await statusOf(claim(undefined, "2026-07-28")), [400, "-32602"], "the header alone");
  deepEqual(await statusOf(claim("2026-07-28", "2026-07-28")), [200, undefined], "both");
  deepEqual(await statusOf(claim(5, "2026-07-28")), [400, "-32602"], "a malformed claim");
  deepEqual(await statusOf(claim(5, undefined)), [400, "-32602"], "a malformed claim without the header");
  deepEqual(await statusOf(claim("2025-11-25", "2025-11-25")), [400, "-32022"], "a claim of a version that makes none");
  const session = await handshake(send);
  const token = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: { progressToken: 1 } } };
  deepEqual(await statusOf({ headers: session, body: token }), [200, undefined], "neither, with other metadata");
});

proves(
  "typescript:hosting:entry:strict-rejects-legacy",
  { wire: "legacy-http" },
  "a client of older versions tells its user which versions there are",
  async (t) => {
    const port = await listen(t, defineServer());
    await rejects(connect(`http://127.0.0.1:${port}/mcp`, { era: "legacy" }), (error: Error) => {
      match(error.message, /2026-07-28/);
      match(error.message, /2025-11-25/);
      return true;
    });
  },
);

verifies(
  ["typescript:hosting:entry:strict-rejects-legacy", "hosting:http:modern:headerless-legacy"],
  "an endpoint of this era alone names its versions",
  eachHost,
  async ({ serve }) => {
    const send = await serve(defineServer().tool("echo", {}, () => "hi"));
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1" } };
    const response = await send({
      headers: plainHeaders,
      body: { jsonrpc: "2.0", id: 1, method: "initialize", params },
    });
    equal(response.status, 400);
    const { error } = (await response.json()) as { error: { code: number; message: string; data: unknown } };
    equal(error.code, -32022);
    match(error.message, /Unsupported protocol version/);
    deepEqual(error.data, { supported: ["2026-07-28"], requested: "2025-11-25" });

    const bare = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    equal((await send({ headers: plainHeaders, body: bare })).status, 400);
    equal((await send(modernRequest("tools/list"))).status, 200);
    const dual = await serve(createDual().server);
    const session = await handshake(dual);
    const served = await dual({ headers: { ...session, "mcp-protocol-version": undefined }, body: bare });
    equal(served.status, 200);
    await served.text();
  },
);

verifies(
  "hosting:http:modern:no-resumability-bytes",
  "beside sessions whose events are kept",
  eachHost,
  async ({ serve }) => {
    const log = new MemoryEventLog();
    const server = defineServer({ http: { resumable: log, retryMs: 1000 } }, bothEras).tool("talk", {}, (_, ctx) => {
      ctx.progress(1);
      return "hi";
    });
    const send = await serve(server);
    const session = await handshake(send);
    const params = { name: "talk", arguments: {}, _meta: { progressToken: "p" } };
    const old = await send({ headers: session, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    match(await old.text(), /^id: /m);
    const kept = log.size();
    const notifications = { toolsListChanged: true };
    const listening = await send(modernRequest("subscriptions/listen", { params: { notifications } }));
    const talking = await send(
      modernRequest("tools/call", { params: { name: "talk", arguments: {} }, meta: { progressToken: "p" } }),
    );
    const texts = [await talking.text()];
    const changed = log.size();
    server.changes.toolsChanged();
    await server.close();
    texts.push(await listening.text());
    match(texts[0] ?? "", /notifications\/progress/);
    match(texts[1] ?? "", /notifications\/tools\/list_changed/);
    for (const text of texts) {
      doesNotMatch(text, /^(id|retry)\b/m);
      doesNotMatch(text, /^data:\s*$/m);
    }
    equal(changed, kept);
  },
);
