import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { modernResults } from "#src/era/modern/results.js";
import { legacyWires, modernWires, type World } from "../../support/each-wire.js";
import { settled } from "../../support/http-transports.js";
import { enveloped, initialize, rawClient } from "../../support/raw-client.js";
import { LEGACY_VERSIONS, MODERN } from "../../support/server-script.js";
import { hasSchemas, problemsAt } from "../../support/spec-schema.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const VERSION = "io.modelcontextprotocol/protocolVersion";

verifies("lifecycle:discover:server-implements", modernWires, async (world: World, t) => {
  const client = await rawClient(world, new McpServer(me), t);
  const { result } = await client.ask(enveloped(1, "server/discover"));
  equal(result?.resultType, "complete");
  ok(Array.isArray(result?.supportedVersions));
  deepEqual(result?.capabilities, {});
  equal(typeof result?.ttlMs, "number");
  ok(["public", "private"].includes(result?.cacheScope as string));
  equal(modernResults.get("server/discover")?.(result), undefined);
  if (hasSchemas) deepEqual(problemsAt(MODERN, "DiscoverResult", result), []);
});

verifies("lifecycle:discover:supported-versions", modernWires, async (world: World, t) => {
  for (const [server, versions] of [
    [new McpServer(me, { versions: [MODERN] }), [MODERN]],
    [new McpServer(me), [MODERN, ...LEGACY_VERSIONS]],
    [new McpServer(me, { versions: ["2025-03-26", MODERN] }), [MODERN, "2025-03-26"]],
  ] as const) {
    const client = await rawClient(world, server, t);
    const { result } = await client.ask(enveloped(1, "server/discover"));
    deepEqual(result?.supportedVersions, versions);
    for (const version of ["2027-01-01", ...LEGACY_VERSIONS]) {
      const refused = await client.ask(enveloped(2, "server/discover", {}, { [VERSION]: version }));
      equal(refused.error?.code, -32022);
    }
    for (const version of LEGACY_VERSIONS) {
      const opened = await (await rawClient(world, server, t)).ask(initialize(3, version));
      equal(opened.result?.protocolVersion === version, (versions as readonly string[]).includes(version));
    }
  }
});

verifies("lifecycle:discover:capabilities-from-handlers", modernWires, async ({ connect }: World) => {
  const extensions = { "com.example/x": { a: 1 } };
  // Tasks are a capability of 2025-11-25 only. Their extension declares it.
  throws(() => new McpServer(me, { capabilities: { tasks: { list: {} } } as object }), /unknown option tasks/);
  const server = new McpServer(me, { capabilities: { extensions } });
  const client = await connect(server);
  const seen = async () => (await client.discover()).capabilities;
  deepEqual(await seen(), { extensions });
  server.tool("t", {}, () => "x");
  deepEqual(await seen(), { extensions, logging: {}, tools: { listChanged: true } });
  server.prompt("p", {}, () => "x");
  deepEqual(await seen(), { extensions, logging: {}, tools: { listChanged: true }, prompts: { listChanged: true } });
  server.resource("a:{x}", { name: "r", complete: { x: () => [] } }, () => "x");
  deepEqual(await seen(), {
    extensions,
    logging: {},
    completions: {},
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
  });
});

verifies("lifecycle:discover:instructions", modernWires, async ({ connect }: World) => {
  const told = await connect(new McpServer(me, { instructions: "Mind the tide" }));
  equal(told.server.instructions, "Mind the tide");
  equal((await told.discover()).instructions, "Mind the tide");
  const untold = await connect(new McpServer(me));
  equal(untold.server.instructions, undefined);
  equal("instructions" in (await untold.discover()), false);
});

verifies("lifecycle:discover:basic", "asked at any time", modernWires, async ({ connect }: World) => {
  const client = await connect(new McpServer(me));
  const result = await client.discover();
  deepEqual(result.supportedVersions, [MODERN, ...LEGACY_VERSIONS]);
  deepEqual(Object.keys(client.wire.requests("server/discover")[1]?.params ?? {}), ["_meta"]);
});
verifies("lifecycle:discover:basic", "refused where there is none", legacyWires, async ({ connect }: World) => {
  const client = await connect(new McpServer(me));
  const before = client.wire.frames.length;
  await rejects(client.discover(), (error) => error instanceof RpcError && error.local);
  await settled();
  equal(client.wire.frames.length, before);
});
