import { ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { createMemoryState } from "bowline/testing";
import { until } from "../../support/census.js";
import { type LogKind, StreamsWorld } from "../../support/streams-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-node";
const names = ["v1", "v2", "bowline"] as const;

/** Nodes of a cluster in memory. One process has none. */
function clustersOf(t: TestContext, nodes: number) {
  if (nodes === 1) return undefined;
  const state = createMemoryState();
  const clusters = Array.from({ length: nodes }, () => state.node());
  t.after(() => Promise.all(clusters.map((cluster) => cluster.close())));
  return clusters;
}

const forms: readonly (readonly [number, LogKind])[] = [
  [2, "kept"],
  [2, "slow"],
  [2, "none"],
  [1, "kept"],
  [1, "slow"],
];

for (const client of names) {
  for (const [nodes, log] of forms)
    proves(
      ["cluster:clients:cancel", "hosting:resume:nothing-left"],
      { wire },
      `a cancelled call, ${client}, ${nodes} process(es), event log: ${log}`,
      (t) =>
        StreamsWorld.with({ client, log, clusters: clustersOf(t, nodes) }, (world) =>
          world.assertCancels({ calls: 1, log }),
        ),
    );

  proves("cluster:clients:cancel", { wire }, `many cancelled calls, ${client}`, (t) =>
    StreamsWorld.with({ client, log: "kept", clusters: clustersOf(t, 2) }, (world) =>
      world.assertCancels({ calls: 20, log: "kept" }),
    ),
  );

  proves("cluster:clients:cancel", { wire }, `a call that fails, ${client}`, (t) =>
    StreamsWorld.with({ client, log: "kept", clusters: clustersOf(t, 2) }, async (world) => {
      const requests = world.proxy.passed.length;
      await world.client.callTool("unknown").then(
        (result) => ok((result as { isError?: boolean }).isError),
        () => {},
      );
      await world.quiet();
      const gets = world.proxy.passed.slice(requests).filter(({ method }) => method === "GET");
      ok(gets.length <= 1 && gets.every(({ status }) => status === 204));
      await world.assertHears();
    }),
  );

  proves("cluster:clients:cancel", { wire }, `a cancelled call whose stream was lost twice, ${client}`, (t) =>
    StreamsWorld.with({ client, log: "kept", clusters: clustersOf(t, 2) }, async (world) => {
      const { proxy } = world;
      const call = await world.begin();
      const post = proxy.passed.findLast(({ method }) => method === "POST");
      await until("the response begins", () => post?.status === 200);
      post?.cut();
      await until("the stream is resumed", () => proxy.openGets.length === 2);
      // The second loss comes before any event.
      const resumed = proxy.openGets.at(-1);
      resumed?.cut();
      await until("the stream is resumed again", () => resumed?.isOpen === false && proxy.openGets.length === 2);
      await call.cancel();
      await world.quiet();
      await world.assertHears();
    }),
  );

  for (const log of ["none", "kept"] as const)
    for (const nodes of [1, 2])
      proves(
        "cluster:clients:silent-loss",
        { wire },
        `the GET stream is lost in silence, ${client}, ${nodes} process(es), event log: ${log}`,
        (t) =>
          StreamsWorld.with({ client, log, clusters: clustersOf(t, nodes) }, async (world) => {
            const [lost] = world.proxy.openGets;
            lost?.loseInSilence();
            await until("the client listens again", () => lost?.isOpen === false && world.proxy.openGets.length === 1);
            await world.quiet();
            await world.assertHears();
          }),
      );

  proves("hosting:resume:bad-event-id", { wire }, `the log has lost the position, ${client}`, () =>
    StreamsWorld.with({ client, log: "kept" }, async (world) => {
      await world.client.subscribe("x:y");
      await world.quiet();
      for (const session of world.sessions) world.log.drop(session);
      world.proxy.openGets[0]?.cut();
      const has = (method: string) => world.heard.some((heard) => heard.method === method);
      await until("the client hears what may have changed", () =>
        ["notifications/tools/list_changed", "notifications/resources/updated"].every(has),
      );
      await world.assertHears();
    }),
  );
}
