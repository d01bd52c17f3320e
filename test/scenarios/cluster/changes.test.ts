import { deepEqual, throws } from "node:assert/strict";
import type { TestContext } from "node:test";
import { connect } from "bowline/client";
import type { Cluster } from "bowline/cluster";
import { McpServer } from "bowline/server";
import { createMemoryState } from "bowline/testing";
import { proves } from "../../support/verifies.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

function serve(t: TestContext, cluster: Cluster): McpServer {
  const server = new McpServer({ name: "s", version: "1" }, { cluster, stateKeys, onError: () => {} });
  server.tool("a", {}, () => "a").resource("x:y", { name: "x" }, () => "x");
  t.after(() => server.close());
  t.after(() => cluster.close());
  return server;
}

for (const era of ["modern", "legacy"] as const) {
  const wire = `${era}-memory`;

  proves(
    "cluster:changes:all-nodes",
    { wire },
    "a change in one process reaches the clients of all, once",
    async (t) => {
      const state = createMemoryState();
      const [one, other] = [serve(t, state.node()), serve(t, state.node())];
      const client = await connect(one, { era });
      t.after(() => client.close());
      const watch = await client.watch({ toolsListChanged: true, resources: ["x:y"] });
      const seen = watch[Symbol.asyncIterator]();
      other.tool("b", {}, () => "b");
      deepEqual((await seen.next()).value, { kind: "tools" });
      other.changes.resourceUpdated("x:y");
      one.tool("c", {}, () => "c");
      deepEqual(
        [(await seen.next()).value, (await seen.next()).value],
        [{ kind: "resource", uri: "x:y" }, { kind: "tools" }],
      );
    },
  );

  proves("cluster:engine-away:changes", { wire }, "changes reach the clients of their own process", async (t) => {
    const state = createMemoryState();
    const node = state.node();
    const server = serve(t, node);
    const client = await connect(server, { era });
    t.after(() => client.close());
    const watch = await client.watch({ toolsListChanged: true });
    state.cut(node);
    server.tool("b", {}, () => "b");
    deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
  });
}

proves("cluster:start:keys", {}, "a server of a cluster needs common keys", () => {
  const cluster = createMemoryState().node();
  throws(() => new McpServer({ name: "s", version: "1" }, { cluster } as object), {
    name: "DefinitionError",
    message: /McpServer cluster: set stateKeys/,
  });
});
