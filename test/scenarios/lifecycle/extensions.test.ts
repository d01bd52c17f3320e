import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { connect, DefinitionError, ProtocolError, RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, legacyWires, modernWires, type World } from "../../support/each-wire.js";
import { enveloped, rawClient } from "../../support/raw-client.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const theirs = { "com.example/tide": {}, "com.example/wind": { knots: [1, { gust: true }] } };
const ours = { "com.example/tide": {}, "com.example/chart": { scale: 2 } };

function harbour(extensions?: typeof theirs) {
  return new McpServer(me, extensions === undefined ? {} : { capabilities: { extensions } }).tool(
    "who",
    {},
    (_, ctx) => {
      return JSON.stringify(ctx.client.capabilities.extensions ?? null);
    },
  );
}

verifies(
  ["extensions:capability:advertised", "extensions:unknown-ignored"],
  "both sides say what they have on",
  modernWires,
  async ({ connect }: World) => {
    const client = await connect(harbour(theirs), { capabilities: { extensions: ours } });
    deepEqual(client.server.capabilities.extensions, theirs);
    await client.listTools();
    deepEqual(JSON.parse((await client.callTool("who")).text), ours);
    const requests = client.wire.requests();
    equal(requests.length, 3);
    for (const { params } of requests) {
      const meta = params?._meta as Record<string, { extensions?: object }> | undefined;
      deepEqual(meta?.[CAPABILITIES]?.extensions, ours);
    }
  },
);

verifies(
  ["extensions:capability:legacy-handshake", "extensions:unknown-ignored"],
  "the handshake tells them too",
  legacyWires,
  async ({ connect }: World) => {
    const client = await connect(harbour(theirs), { versions: ["2025-11-25"], capabilities: { extensions: ours } });
    deepEqual(client.server.capabilities.extensions, theirs);
    deepEqual(JSON.parse((await client.callTool("who")).text), ours);
    const bare = await connect(harbour(), { versions: ["2025-11-25"] });
    equal(JSON.stringify(bare.wire.frames[0]).includes("extensions"), false);
    equal("extensions" in bare.server.capabilities, false);
  },
);

verifies("extensions:default-off", "nothing is on by itself", eachWire, async ({ connect }: World) => {
  const client = await connect(harbour());
  equal("extensions" in client.server.capabilities, false);
  equal((await client.callTool("who")).text, "null");
  await rejects(client.request("tasks/get", { taskId: "1" }), (error) => {
    return error instanceof RpcError && error.rpcCode === -32601;
  });
});
proves(
  ["extensions:default-off", "extensions:client:claimed-result-undeclared-invalid"],
  { wire: "modern-memory" },
  "a result of an extension that is off is no result",
  async (t) => {
    const content = [{ type: "text", text: "done" }];
    const script = new ServerScript().modern().on("tools/call", { result: { resultType: "task", content } });
    const client = await connect({ channel: script.channel }, { era: "modern" });
    t.after(() => client.close());
    await rejects(client.callTool("t"), ProtocolError);
    equal(script.all("tools/call").length, 1);
  },
);

proves("extensions:identifier:format", {}, "names follow the grammar", async () => {
  const define = (id: string) => new McpServer(me, { capabilities: { extensions: { [id]: {} } } });
  for (const id of ["com.example/x", "io.modelcontextprotocol/ui", "a/b.c-d_e"]) define(id);
  for (const id of ["x", "/x", "com..example/x", "com.example/", "-a.b/x", "com.example/-x", "a b/x"]) {
    const named = (error: unknown) => error instanceof DefinitionError && error.message.includes(`"${id}"`);
    throws(() => define(id), named);
    const { channel } = new ServerScript().modern();
    await rejects(connect({ channel }, { capabilities: { extensions: { [id]: {} } } }), named);
  }
});

verifies(
  ["extensions:server-checks-per-request", "extensions:client:capability-ad:gates-server-behaviour"],
  modernWires,
  async (world: World, t) => {
    const requires = { extensions: { "com.example/chart": {} } };
    const server = harbour().method("com.example/plot", { requires }, (_, ctx) => ({
      settings: ctx.client.capabilities.extensions?.["com.example/chart"],
    }));
    const client = await rawClient(world, server, t);
    const declared = { [CAPABILITIES]: { extensions: ours } };
    const [served, refused] = await Promise.all([
      client.ask(enveloped(1, "com.example/plot", {}, declared)),
      client.ask(enveloped(2, "com.example/plot")),
    ]);
    deepEqual(served?.result?.settings, { scale: 2 });
    equal(refused?.error?.code, -32021);
    deepEqual(refused?.error?.data, { requiredCapabilities: requires });
    for (const settings of [null, true, []]) {
      const odd = { [CAPABILITIES]: { extensions: { "com.example/chart": settings } } };
      const { error } = await client.ask(enveloped(3, "com.example/plot", {}, odd));
      ok(error !== undefined);
    }
  },
);
