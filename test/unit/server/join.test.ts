import { deepEqual, equal, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import type { Cluster } from "bowline/cluster";
import { McpServer, type ServerOptions } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { createMemoryState } from "bowline/testing";
import type { ExtensionHost } from "#src/server/extensions/extension.js";

const KEYS = [{ id: "k", secret: new Uint8Array(32) }];

function join(t: TestContext, cluster: Cluster, options: ServerOptions = {}): McpServer {
  const server = new McpServer({ name: "s", version: "1" }, options).tool("a", {}, () => "a");
  server.join(cluster, KEYS);
  t.after(() => server.close());
  t.after(() => cluster.close());
  return server;
}

for (const era of ["modern", "legacy"] as const) {
  test(`servers that join a cluster share changes (${era})`, async (t) => {
    const state = createMemoryState();
    const [one, other] = [join(t, state.node()), join(t, state.node())];
    const client = await connect(one, { era });
    t.after(() => client.close());
    const seen = (await client.watch({ toolsListChanged: true }))[Symbol.asyncIterator]();
    other.tool("b", {}, () => "b");
    deepEqual((await seen.next()).value, { kind: "tools" });
    other.changes.toolsChanged();
    deepEqual((await seen.next()).value, { kind: "tools" });
  });
}

test("servers that join a cluster share rates", async (t) => {
  const state = createMemoryState();
  const rateLimit = {
    burst: 1,
    refillMs: 60_000,
    key: ({ method }: { method: string }) => (method === "tools/call" ? "all" : undefined),
  };
  const servers = [join(t, state.node(), { rateLimit }), join(t, state.node(), { rateLimit })] as const;
  const clients = await Promise.all(servers.map((server) => connect(server)));
  t.after(() => Promise.all(clients.map((client) => client.close())));
  await clients[0]?.callTool("a", {});
  await rejects(async () => clients[1]?.callTool("a", {}), /Too many calls/);
});

test("a server that joins a cluster keeps its own keys", (t) => {
  const stateKeys = [{ id: "own", secret: new Uint8Array(32) }];
  const cluster = createMemoryState().node();
  const server = join(t, cluster, { stateKeys });
  equal(server.cluster, cluster);
});

test("a server with tasks that joins a cluster tells its other extensions", async (t) => {
  const cluster = createMemoryState().node();
  t.after(() => cluster.close());
  const server = new McpServer({ name: "s", version: "1" });
  t.after(() => server.close());
  let told = 0;
  const other = {
    installIn: (host: ExtensionHost) => {
      host.onShare = () => told++;
    },
  };
  server.extend(other as never);
  server.extend(tasks()).join(cluster, KEYS);
  equal(told, 1);
});
