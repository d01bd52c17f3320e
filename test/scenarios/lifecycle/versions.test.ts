import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ProtocolVersion } from "bowline/client";
import { type ClientOptions, connect, McpError, VersionError } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { createPipePair, eachWire, legacyWires, type World } from "../../support/each-wire.js";
import { HttpScript, scripted } from "../../support/http-script.js";
import { LEGACY_VERSIONS, MODERN, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };

verifies("lifecycle:version:client-latest", legacyWires, async ({ connect }: World) => {
  const offered = async (options: ClientOptions) => {
    const client = await connect(new McpServer(me), options);
    return client.wire.requests("initialize")[0]?.params?.protocolVersion;
  };
  equal(await offered({}), "2025-11-25");
  equal(await offered({ versions: ["2024-11-05", "2026-07-28", "2025-06-18"] }), "2025-06-18");
});

proves(
  "lifecycle:version:downgrade",
  { wire: "legacy-memory" },
  "an older version is spoken from then on",
  async (t) => {
    for (const version of LEGACY_VERSIONS.slice(1)) {
      const client = await connect({ channel: new ServerScript().legacy(version).channel }, { era: "legacy" });
      t.after(() => client.close());
      equal(client.version, version);
    }
  },
);

const DRAFT = "2024-10-07";

proves("lifecycle:version:draft-answer", { wire: "legacy-memory" }, "is spoken as 2024-11-05", async (t) => {
  const script = new ServerScript().legacy(DRAFT, { tools: {} });
  const client = await connect({ channel: script.channel }, { era: "legacy" });
  t.after(() => client.close());
  equal(client.version, DRAFT);
  script.on("tools/call", { result: { toolResult: "old" } });
  deepEqual((await client.callTool("t")).content, []);
  const refusing = new ServerScript().legacy(DRAFT);
  await rejects(connect({ channel: refusing.channel }, { versions: ["2025-11-25"] }), VersionError);
  await refusing.closed;
});

proves("lifecycle:version:draft-answer", { wire: "legacy-http" }, "headers name what was answered", async (t) => {
  const initialized = { protocolVersion: DRAFT, capabilities: { tools: {} }, serverInfo: me };
  const { script, connectTo } = await scripted(t, (received) => {
    if (received.method === "GET") received.status(405);
    else if (received.method === "DELETE") received.status(204);
    else if (received.rpcMethod === "initialize") received.result(initialized, { "mcp-session-id": "s" });
    else if (received.rpcMethod === "tools/list") received.result({ tools: [] });
    else received.status(202);
  });
  const client = await connectTo({ era: "legacy" });
  deepEqual((await client.listTools()).tools, []);
  equal(script.all("tools/list")[0]?.headers["mcp-protocol-version"], DRAFT);
  const { session } = client;
  await client.close({ keepSession: true });
  const again = await connectTo({ session });
  deepEqual((await again.listTools()).tools, []);
});

for (const [id, answered, options] of [
  ["lifecycle:version:reject-unsupported", "2099-01-01", {}],
  ["lifecycle:version:initialize-never-modern", MODERN, {}],
] as const) {
  for (const era of ["legacy", "auto"] as const) {
    proves(id, { wire: "legacy-memory" }, `a client in mode ${era} refuses ${answered}`, async () => {
      const script = new ServerScript().legacy(answered);
      await rejects(connect({ channel: script.channel }, { ...options, era }), (error) => {
        ok(error instanceof McpError);
        ok(error.message.includes(answered));
        ok(error.message.includes("2025-11-25"));
        return true;
      });
      await script.closed;
      deepEqual(
        script.methods.filter((method) => method !== "server/discover"),
        ["initialize"],
      );
      equal(script.all("initialize")[0]?.params?.protocolVersion, "2025-11-25");
    });
  }
}

proves("lifecycle:version:reject-unsupported", { wire: "legacy-stdio" }, "the pipe is closed", async () => {
  const script = new ServerScript(createPipePair()).legacy("2099-01-01");
  await rejects(connect({ channel: script.channel }, { era: "legacy" }), VersionError);
  await script.closed;
  deepEqual(script.methods, ["initialize"]);
});

proves("lifecycle:version:reject-unsupported", { wire: "legacy-http" }, "nothing follows the answer", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const serverInfo = { name: "script", version: "1" };
  script.onRequest = (received) => {
    if (received.method === "DELETE") return received.status(204);
    const result = { protocolVersion: "2099-01-01", capabilities: {}, serverInfo };
    received.result(result, { "mcp-session-id": "session-0123456789" });
  };
  await rejects(connect(script.url, { era: "legacy" }), (error) => {
    ok(error instanceof VersionError);
    ok(error.message.includes("2099-01-01") && error.message.includes("2025-11-25"));
    return true;
  });
  // The session that came with the answer is ended, and nothing else is said.
  deepEqual(
    script.received.map(({ method, rpcMethod }) => rpcMethod ?? method),
    ["initialize", "DELETE"],
  );
});

proves(
  "lifecycle:version:initialize-never-modern",
  { wire: "modern-memory" },
  "without a common older version there is no handshake",
  async () => {
    const script = new ServerScript().legacy();
    const only = connect({ channel: script.channel }, { era: "modern" });
    await rejects(only, VersionError);
    deepEqual(script.methods, ["server/discover"]);
  },
);

verifies("lifecycle:version:custom-supported-versions", eachWire, async ({ connect, era }: World) => {
  const own = era === "modern" ? MODERN : "2025-06-18";
  const server = () => new McpServer(me, { versions: [own] }).tool("v", {}, (_, ctx) => ctx.client.version);
  const client = await connect(server(), { era: "auto" });
  equal(client.version, own);
  equal((await client.callTool("v")).text, own);
  const limited = await connect(new McpServer(me), { era: "auto", versions: [own] });
  equal(limited.version, own);
  const others = [MODERN, ...LEGACY_VERSIONS].filter((version) => version !== own);
  const disjoint = era === "modern" ? others : others.filter((version) => version !== MODERN);
  await rejects(connect(server(), { era: "auto", versions: disjoint as ProtocolVersion[] }), (error) => {
    ok(error instanceof McpError);
    ok(error.message.includes(own), error.message);
    return true;
  });
});

verifies("lifecycle:era:reported", eachWire, async ({ connect, era }: World) => {
  const connecting = connect(new McpServer(me));
  const client = await connecting;
  equal(client.era, era);
  equal(client.version, era === "modern" ? MODERN : "2025-11-25");
  await client.close();
  equal(client.era, undefined);
  equal(client.version, undefined);
});

verifies("lifecycle:mode:legacy-never-probes", legacyWires, async ({ connect }: World) => {
  const client = await connect(new McpServer(me), { era: "legacy" });
  equal(client.wire.frames[0]?.message?.method, "initialize");
  deepEqual(client.wire.requests("server/discover"), []);
});

proves("lifecycle:mode:legacy-never-probes", {}, "also where the newer era was met, or is known", async (t) => {
  const running = await serveHttp(new McpServer(me));
  t.after(() => running.close());
  const sent: string[] = [];
  const watched: NonNullable<ClientOptions["fetch"]> = (url, init) => {
    if (typeof init.body === "string") sent.push((JSON.parse(init.body) as { method: string }).method);
    return fetch(url, init);
  };
  const modern = await connect(running.url);
  t.after(() => modern.close());
  equal(modern.era, "modern");
  const client = await connect(running.url, { era: "legacy", fetch: watched });
  t.after(() => client.close());
  await client.ping();
  deepEqual(sent, ["initialize", "notifications/initialized", "ping"]);
});
