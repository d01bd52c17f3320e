import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connect, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, legacyWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { settled } from "../../support/http-transports.js";
import { LEGACY_VERSIONS, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const full = {
  name: "harbour",
  version: "2",
  title: "Harbour",
  description: "Berths and tides",
  websiteUrl: "https://example.com",
  icons: [{ src: "https://example.com/i.png" }],
};
const me = { name: "harbour", version: "2" };
const skipper = { name: "skipper", version: "3", title: "Skipper" };

function nothing(): McpServer {
  return new McpServer(me);
}

function askable() {
  return new McpServer(me).tool("who", {}, (_, ctx) => ({ structuredContent: { ...ctx.client }, content: [] }));
}

verifies("lifecycle:initialize:basic", legacyWires, async ({ connect }: World) => {
  for (const version of LEGACY_VERSIONS) {
    const client = await connect(nothing(), { info: skipper, versions: [version] });
    const [first] = client.wire.frames;
    const params = first?.message?.params;
    equal(first?.from, "client");
    equal(first?.message?.method, "initialize");
    equal(params?.protocolVersion, version);
    deepEqual(params?.capabilities, {});
    equal((params?.clientInfo as typeof skipper | undefined)?.name, "skipper");
    const result = client.wire.responsesTo("initialize")[0]?.result;
    equal(result?.protocolVersion, version);
    deepEqual(result?.capabilities, {});
    equal((result?.serverInfo as typeof me | undefined)?.name, "harbour");
    equal(client.version, version);
  }
});

verifies("lifecycle:initialize:server-info", legacyWires, async ({ connect }: World) => {
  const known: Record<string, object> = {
    "2025-11-25": full,
    "2025-06-18": { name: "harbour", version: "2", title: "Harbour" },
    "2025-03-26": me,
    "2024-11-05": me,
  };
  for (const version of LEGACY_VERSIONS) {
    const client = await connect(new McpServer(full), { versions: [version] });
    deepEqual(client.server.info, known[version]);
  }
});

verifies("lifecycle:initialize:instructions", legacyWires, async ({ connect }: World) => {
  const told = await connect(new McpServer(me, { instructions: "Mind the tide" }));
  equal(told.server.instructions, "Mind the tide");
  const untold = await connect(nothing());
  equal(untold.server.instructions, undefined);
  equal("instructions" in (untold.wire.responsesTo("initialize")[0]?.result ?? {}), false);
});

verifies("lifecycle:initialize:capabilities:from-handlers", legacyWires, async ({ connect }: World) => {
  const keys = async (server: McpServer) => {
    const { logging, ...rest } = (await connect(server)).server.capabilities;
    // Whatever has handlers can log from them.
    deepEqual(logging, {});
    return rest;
  };
  const text = () => "x";
  deepEqual(await keys(nothing().tool("t", {}, text) as unknown as McpServer), { tools: { listChanged: true } });
  deepEqual(await keys(nothing().prompt("p", {}, text)), { prompts: { listChanged: true } });
  deepEqual(await keys(nothing().resource("a:b", { name: "r" }, text)), {
    resources: { subscribe: true, listChanged: true },
  });
  const completed = nothing().resource("a:{x}", { name: "r", complete: { x: () => ["1"] } }, text);
  deepEqual(await keys(completed), { completions: {}, resources: { subscribe: true, listChanged: true } });
  const logging = await connect(new McpServer(me, { capabilities: { logging: true } }));
  deepEqual(logging.server.capabilities, { logging: {} });
});

verifies("lifecycle:initialize:capabilities:minimal", legacyWires, async ({ connect }: World) => {
  deepEqual((await connect(nothing())).server.capabilities, {});
});

verifies("lifecycle:initialize:client-info", legacyWires, async ({ connect }: World) => {
  const client = await connect(askable(), { info: skipper });
  const { structured } = await client.callTool("who");
  deepEqual((structured as { info: object }).info, skipper);
});

verifies("lifecycle:initialize:client-capabilities", legacyWires, async ({ connect }: World) => {
  const declared = async (options: object) => {
    const client = await connect(askable(), options);
    const { structured } = await client.callTool("who");
    const seen = (structured as { capabilities: object }).capabilities;
    deepEqual(client.wire.requests("initialize")[0]?.params?.capabilities, seen);
    return seen;
  };
  const answer = () => ({ action: "decline" as const });
  deepEqual(await declared({}), {});
  deepEqual(await declared({ onElicit: answer }), { elicitation: { form: {} } });
  deepEqual(await declared({ onElicitUrl: answer }), { elicitation: { url: {} } });
  deepEqual(await declared({ onElicit: answer, onElicitUrl: answer }), { elicitation: { form: {}, url: {} } });
  deepEqual(await declared({ onSample: () => ({}) }), { sampling: {} });
  deepEqual(await declared({ onSample: () => ({}), sampling: { tools: true } }), { sampling: { tools: {} } });
  deepEqual(await declared({ roots: [] }), { roots: { listChanged: true } });
});

verifies("lifecycle:initialized-notification", "once, before any call", legacyWires, async ({ connect }: World) => {
  const client = await connect(askable());
  await Promise.all([client.callTool("who"), client.callTool("who"), client.request("ping")]);
  const sent = client.wire.frames.filter(({ from, message }) => from === "client" && message?.method !== undefined);
  deepEqual(
    sent.slice(0, 2).map(({ message }) => message?.method),
    ["initialize", "notifications/initialized"],
  );
  equal(client.wire.notifications("client", "notifications/initialized").length, 1);
});

proves(
  ["lifecycle:initialize:error-surfaces", "lifecycle:initialized-notification"],
  { wire: "legacy-memory" },
  "an error answer to the handshake ends the connection",
  async () => {
    const script = new ServerScript();
    script.on("initialize", { error: { code: -32602, message: "No such version", data: { supported: ["1.0"] } } });
    await rejects(connect({ channel: script.channel }, { era: "legacy" }), (error) => {
      ok(error instanceof RpcError);
      equal(error.rpcCode, -32602);
      deepEqual(error.data, { supported: ["1.0"] });
      return true;
    });
    await script.closed;
    deepEqual(script.methods, ["initialize"]);
  },
);

proves(
  "lifecycle:pre-initialization-ordering",
  { wire: "legacy-memory" },
  "nothing but the handshake is written until it is answered",
  async (t) => {
    const script = new ServerScript();
    const connecting = connect({ channel: script.channel }, { era: "legacy" });
    const ping = connecting.then((client) => client.request("tools/list"));
    const request = await script.next("initialize");
    await settled();
    deepEqual(script.methods, ["initialize"]);
    script.on("tools/list", { result: { tools: [] } });
    script.result(request, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: me });
    t.after(async () => (await connecting).close());
    await ping;
    deepEqual(script.methods, ["initialize", "notifications/initialized", "tools/list"]);
  },
);

proves(
  "lifecycle:initialize:client-idempotent",
  { wire: "legacy-memory" },
  "a second handshake is refused here",
  async (t) => {
    const script = new ServerScript().legacy();
    const client = await connect({ channel: script.channel }, { era: "legacy" });
    t.after(() => client.close());
    await rejects(client.request("initialize", { protocolVersion: "2025-11-25" }), (error) => {
      return error instanceof RpcError && error.local && /already/.test(error.message);
    });
    equal(script.all("initialize").length, 1);
  },
);

verifies("lifecycle:capability:experimental-passthrough", eachWire, async ({ connect, era }: World) => {
  const theirs = { "com.example/tide": { level: 3, list: [1, { a: null }] } };
  const ours = { "com.example/wind": { knots: 12 } };
  const seen = gate<object | undefined>();
  const server = new McpServer(me, { capabilities: { experimental: theirs } }).tool("who", {}, (_, ctx) => {
    seen.open(ctx.client.capabilities);
    return "ok";
  });
  const client = await connect(server, { era, capabilities: { experimental: ours } });
  await client.callTool("who");
  deepEqual(client.server.capabilities.experimental, theirs);
  deepEqual((await seen.opened) as object, { experimental: ours });
});

for (const era of ["modern", "legacy"] as const) {
  proves(
    "lifecycle:capability:experimental-passthrough",
    { wire: `${era}-memory` },
    "names that nobody here knows are kept",
    async (t) => {
      const strange = { tools: {}, moorings: { berths: [1, 2] } };
      const script =
        era === "modern" ? new ServerScript().modern(strange) : new ServerScript().legacy(undefined, strange);
      const client = await connect({ channel: script.channel }, { era });
      t.after(() => client.close());
      deepEqual(client.server.capabilities, strange);
    },
  );
}
