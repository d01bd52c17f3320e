import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { EraName } from "bowline/client";
import { ConnectionError, connect, McpError, type PriorKnowledge, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { legacyWires, modernWires, type World } from "../../support/each-wire.js";
import { LEGACY, MODERN, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const wire = { wire: "modern-memory" };

function harbour() {
  return new McpServer(me, { instructions: "Mind the tide" }).tool("t", {}, () => "x");
}

verifies("lifecycle:mode:pin-never-handshakes", "no negotiation", modernWires, async ({ connect }: World) => {
  const client = await connect(harbour(), { era: "auto", versions: [MODERN] });
  equal(client.wire.frames.length, 0);
  equal((await client.callTool("t")).text, "x");
  const [first] = client.wire.frames;
  equal(first?.message?.method, "tools/call");
  deepEqual(Object.keys((first?.message?.params?._meta as object) ?? {}).sort(), [
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/protocolVersion",
  ]);
});

proves("lifecycle:mode:pin-never-handshakes", wire, "a refusal of an older server is told as it is", async (t) => {
  const script = new ServerScript().legacy().on("tools/list", { error: { code: -32600, message: "not initialized" } });
  const client = await connect({ channel: script.channel }, { versions: [MODERN] });
  t.after(() => client.close());
  await rejects(client.listTools(), (error) => error instanceof RpcError && error.rpcCode === -32600);
  deepEqual(script.methods, ["tools/list"]);
});

verifies("lifecycle:mode:prior-discover-zero-rtt", modernWires, async ({ connect }: World) => {
  const first = await connect(harbour(), { era: "auto" });
  const prior = JSON.parse(JSON.stringify(first.prior)) as PriorKnowledge;
  const second = await connect(harbour(), { era: "auto", prior });
  equal(second.wire.frames.length, 0);
  deepEqual(second.server, first.server);
  equal(second.server.instructions, "Mind the tide");
  equal((await second.callTool("t")).text, "x");
  deepEqual(second.wire.requests("server/discover"), []);
});

verifies("lifecycle:mode:prior-legacy", legacyWires, async ({ connect }: World) => {
  const { prior } = await connect(harbour());
  const client = await connect(harbour(), { era: "auto", prior: JSON.parse(JSON.stringify(prior)) });
  equal(client.era, "legacy");
  equal(client.wire.frames[0]?.message?.method, "initialize");
  deepEqual(client.wire.requests("server/discover"), []);
});
proves("lifecycle:mode:prior-legacy", wire, "a verdict goes before the probe", async (t) => {
  for (const [options, first] of [
    [{}, "server/discover"],
    [{ prior: { era: "legacy" } }, "initialize"],
  ] as const) {
    const script = new ServerScript().legacy();
    const client = await connect({ channel: script.channel }, options);
    t.after(() => client.close());
    equal(client.era, "legacy");
    equal(script.methods[0], first);
  }
});

proves("lifecycle:mode:prior-invalid", wire, "knowledge that makes no sense is refused at once", async (t) => {
  const discovered = { supportedVersions: [MODERN], capabilities: {} };
  for (const prior of [
    { era: "baroque" },
    { era: "modern", discovered: null },
    { era: "modern", discovered: { supportedVersions: "x" } },
    { era: "modern", discovered: { supportedVersions: ["2099-01-01"], capabilities: {} } },
    { era: "modern", discovered: { supportedVersions: [MODERN] } },
    "modern",
    { discovered },
  ]) {
    const script = new ServerScript().modern();
    await rejects(connect({ channel: script.channel }, { prior: prior as unknown as PriorKnowledge }), (error) => {
      ok(error instanceof McpError, String(error));
      equal(error.code, "invalid_prior");
      return true;
    });
    deepEqual(script.received, []);
  }
  const script = new ServerScript().modern();
  const client = await connect({ channel: script.channel }, { prior: null });
  t.after(() => client.close());
  deepEqual(script.methods, ["server/discover"]);
});

async function connected(t: TestContext, script: ServerScript, era: EraName): Promise<string | undefined> {
  const client = await connect({ channel: script.channel }, { prior: { era } });
  t.after(() => client.close());
  return client.era;
}

proves("lifecycle:era:stale-reprobe", wire, "a verdict that has become wrong is corrected", async (t) => {
  const aged = new ServerScript().legacy();
  equal(await connected(t, aged, "modern"), "legacy");
  deepEqual(aged.methods.slice(0, 2), ["server/discover", "initialize"]);
  for (const error of [
    { code: -32022, data: { supported: [MODERN] } },
    { code: -32601, message: "Method not found" },
  ]) {
    const renewed = new ServerScript().modern().on("initialize", { error });
    equal(await connected(t, renewed, "legacy"), "modern");
    deepEqual(renewed.methods, ["initialize", "server/discover"]);
  }
});

proves("lifecycle:era:never-demoted", wire, "a connection stays what it is whatever a call meets", async (t) => {
  const script = new ServerScript().modern().on("tools/list", { error: { code: -32601 } });
  const client = await connect({ channel: script.channel });
  t.after(() => client.close());
  await rejects(client.listTools(), RpcError);
  await rejects(client.callTool("slow", {}, { timeoutMs: 1 }), McpError);
  equal(client.era, "modern");
  deepEqual(script.all("initialize"), []);
});

verifies(
  ["lifecycle:stateless:no-initialize", "lifecycle:discover:optional"],
  modernWires,
  async ({ connect }: World) => {
    const server = new McpServer(me).tool("t", {}, () => "x").resource("a:b", { name: "r" }, () => "y");
    const client = await connect(server, { versions: [MODERN] });
    equal((await client.callTool("t")).text, "x");
    await client.readResource("a:b");
    await using watch = await client.watch({ toolsListChanged: true });
    equal(watch.ended, undefined);
    const sent = client.wire.frames.filter(({ from }) => from === "client").map(({ message }) => message?.method);
    equal(sent[0], "tools/call");
    deepEqual(
      sent.filter((method) => method?.includes("initialize")),
      [],
    );
  },
);

/** What a client wrote from its handshake on, ids left out. */
function afterProbe(script: ServerScript): unknown[] {
  return script.received.filter(({ method }) => method !== "server/discover").map(({ id: _, ...message }) => message);
}

proves("lifecycle:era:fallback-clean", wire, "on a channel nothing of the probe is left", async (t) => {
  const run = async (era: "auto" | EraName) => {
    const script = new ServerScript()
      .legacy()
      .on("tools/list", { result: { tools: [] } })
      .on("tools/call", { result: { content: [] } });
    const client = await connect({ channel: script.channel }, { era, roots: [] });
    t.after(() => client.close());
    await client.listTools();
    await client.callTool("t", { a: 1 }, { onProgress: () => {}, meta: { "com.example/a": 1 } });
    await client.notify("notifications/roots/list_changed");
    // Tokens of progress count like ids.
    return JSON.parse(JSON.stringify(afterProbe(script)).replace(/"progressToken":\d+/g, '"progressToken":"x"'));
  };
  deepEqual(await run("auto"), await run("legacy"));
  ok(JSON.stringify(await run("auto")).includes(LEGACY));
});

for (const [what, says] of Object.entries({
  "says why": 'console.error("unexpected method " + method);',
  "is silent": "",
})) {
  proves(
    "transport:stdio:probe:exit-fallback",
    { wire: "modern-stdio" },
    `a process that leaves and ${what}`,
    async (t) => {
      const server = `
    const me = { name: "shy", version: "1" };
    let open = false;
    const answer = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "initialize") {
        open = true;
        answer({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: me } });
      } else if (!open) {
        ${says}
        process.exit(7);
      }
      else if (id !== undefined) answer({ id, result: { tools: [], pid: process.pid } });
    });`;
      const folder = mkdtempSync(join(tmpdir(), "bowline-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const log = join(folder, "starts");
      const args = ["-e", `require("node:fs").appendFileSync(process.argv[1], "start ");${server}`, log];
      const target = { command: process.execPath, args, stderr: () => {} };
      const client = await connect(target);
      t.after(() => client.close());
      equal(client.version, LEGACY);
      deepEqual((await client.listTools()).tools, []);
      equal(readFileSync(log, "utf8"), "start start ");

      await rejects(connect(target, { era: "modern" }), (error) => {
        ok(error instanceof ConnectionError, String(error));
        equal(error.exitCode, 7);
        return true;
      });
      const pinned = await connect(target, { versions: [MODERN] });
      t.after(() => pinned.close());
      await rejects(pinned.listTools(), (error) => error instanceof ConnectionError && error.exitCode === 7);
    },
  );
}
