import { deepEqual, equal, throws } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import type { Cluster } from "bowline/cluster";
import { McpServer, type ServerSettings } from "bowline/server";
import { createMemoryState } from "bowline/testing";
import { FakeClock } from "../../support/fake-clock.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

function serve(t: TestContext, cluster: Cluster, options: Omit<ServerSettings, "stateKeys"> = {}): McpServer {
  const server = new McpServer({ name: "s", version: "1" }, { cluster, stateKeys, ...options });
  server.tool("a", {}, () => "a").resource("x:y", { name: "x" }, () => "x");
  t.after(() => server.close());
  t.after(() => cluster.close());
  return server;
}

for (const era of ["modern", "legacy"] as const) {
  test(`a change on one node reaches the clients of another (${era})`, async (t) => {
    const state = createMemoryState();
    const [one, other] = [serve(t, state.node()), serve(t, state.node())];
    const client = await connect(one, { era });
    t.after(() => client.close());
    const watch = await client.watch({ toolsListChanged: true, resources: ["x:y"] });
    const seen = watch[Symbol.asyncIterator]();
    other.tool("b", {}, () => "b");
    deepEqual((await seen.next()).value, { kind: "tools" });
    other.changes.resourceUpdated("x:y");
    deepEqual((await seen.next()).value, { kind: "resource", uri: "x:y" });
    one.changes.resourceUpdated("x:y");
    deepEqual((await seen.next()).value, { kind: "resource", uri: "x:y" }, "a change of its own is told once");
  });

  test(`after a gap, everything that a client asked about may have changed (${era})`, async (t) => {
    const state = createMemoryState();
    const node = state.node();
    const clock = new FakeClock();
    const client = await connect(serve(t, node, { clock }), { era });
    t.after(() => client.close());
    const watch = await client.watch({ toolsListChanged: true, resources: ["x:y"] });
    const seen = watch[Symbol.asyncIterator]();
    state.cut(node);
    state.mend(node);
    clock.advance(3_000);
    deepEqual(
      [(await seen.next()).value, (await seen.next()).value],
      [{ kind: "tools" }, { kind: "resource", uri: "x:y" }],
    );
  });
}

test("a server of a cluster needs keys for its states", () => {
  const cluster = createMemoryState().node();
  throws(() => new McpServer({ name: "s", version: "1" }, { cluster } as object), /McpServer cluster: set stateKeys/);
  const stateCodec = { encode: (text: string) => text, decode: (text: string) => text };
  new McpServer({ name: "s", version: "1" }, { cluster, stateCodec });
});

test("a server that closes leaves the bus", async (t) => {
  const state = createMemoryState();
  const [node, other] = [state.node(), state.node()];
  const errors: unknown[] = [];
  const server = new McpServer(
    { name: "s", version: "1" },
    { cluster: node, stateKeys, onError: (error) => errors.push(error) },
  );
  t.after(() => Promise.all([node.close(), other.close()]));
  await server.close();
  await other.bus.publish("changes", "not JSON");
  deepEqual(errors, [], "a closed server receives nothing");
  equal(node.available, true, "the cluster belongs to the program, not to the server");
});

test("while the engine is away, a change reaches the clients of its own node, and the failure is reported", async (t) => {
  const state = createMemoryState();
  const node = state.node();
  const errors: { readonly code?: string }[] = [];
  const server = new McpServer(
    { name: "s", version: "1" },
    { cluster: node, stateKeys, onError: (error) => errors.push(error as { readonly code?: string }) },
  );
  server.tool("a", {}, () => "a");
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  const watch = await client.watch({ toolsListChanged: true });
  state.cut(node);
  server.tool("b", {}, () => "b");
  deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
  deepEqual(
    errors.map(({ code }) => code),
    ["cluster_unavailable"],
  );
});

test("a message that is no change is reported and harms nobody", async (t) => {
  const state = createMemoryState();
  const [node, other] = [state.node(), state.node()];
  const errors: unknown[] = [];
  const server = new McpServer(
    { name: "s", version: "1" },
    { cluster: node, stateKeys, onError: (error) => errors.push(error) },
  );
  t.after(() => server.close());
  await new Promise((resolve) => setImmediate(resolve));
  await other.bus.publish("changes", "not JSON");
  equal(errors.length, 1);
});
