import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "bowline/cluster";
import { settle, status } from "../support/legacy-endpoint.js";
import { at, NodesWorld } from "../support/nodes-world.js";
import { loadScript } from "./load-script.js";

interface Truth {
  write(kind: string, ...rest: unknown[]): void;
}

const { observe } = await loadScript<{ observe(cluster: Cluster, options: { truth: Truth }): Cluster }>(
  "chaos/node/observed.mjs",
);

test("chaos sees which node holds the stream of a session, from what the nodes store", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const seen: string[] = [];
  const node = (name: string) => {
    const truth: Truth = { write: (kind, session, reason) => seen.push(`${name} ${kind} ${session} ${reason}`) };
    return world.node(
      ({ server }) => server.tool("a", {}, () => "a"),
      (cluster) => observe(cluster, { truth }),
    );
  };
  const [one, other] = [node("one"), node("other")];
  const client = await one.endpoint.open();
  client.get();
  await settle();
  await status(client.request(1, "logging/setLevel", { level: "debug" }), 200);
  at(other, client).get();
  await settle();
  const holds = seen.filter((line) => line.includes(" hold ") && line.endsWith(" get"));
  deepEqual(holds, [`one hold ${client.id} get`, `other hold ${client.id} get`]);
});

test("chaos finds a program for each engine", async () => {
  for (const engine of ["redis", "postgres", "sqlite", "workers"]) await loadScript(`chaos/engines/${engine}.mjs`);
});
