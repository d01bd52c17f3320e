import { deepEqual, equal, match } from "node:assert/strict";
import type { Cluster } from "bowline/cluster";
import { gate } from "../../support/gate.js";
import { blocks, type LegacyEndpoint, messages, settle, status } from "../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";

async function pass(world: NodesWorld, ms: number, step: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    world.clock.advance(step);
    await settle();
  }
}

proves("cluster:stream:no-notes", { wire }, "nothing of sessions that have ended stays in the engine", async (t) => {
  const limits = { sessionIdleMs: 20_000, sessionSetupMs: 20_000 };
  const world = new NodesWorld(t, { resumable: true }, { limits });
  const node = () =>
    world.node(({ server }) => {
      server.tool("quick", {}, () => "done").resource("test://a", { name: "a" }, () => "a");
    });
  const [one, other] = [node(), node()];
  await (await one.endpoint.open()).delete().done;
  await (await other.endpoint.open()).delete().done;
  await pass(world, 600_000, 2_500);
  const before = world.engine.sizes;
  for (const isDeleted of [true, false])
    for (let count = 0; count < 20; count++) {
      const client = await one.endpoint.open();
      const stream = at(other, client).get();
      await client.call(1, "quick").done;
      await at(other, client).call(2, "quick").done;
      await status(client.request(3, "resources/subscribe", { uri: "test://a" }), 200);
      if (isDeleted) await status(at(count % 2 === 0 ? one : other, client).delete(), 200);
      else stream.disconnect();
    }
  await pass(world, 600_000, 2_500);
  deepEqual(world.engine.sizes, before);
});

proves(
  "cluster:stream:no-notes",
  { wire },
  "the end of the calls of a dead process costs as much after many sessions as after few",
  async (t) => {
    const costs: number[] = [];
    for (const sessions of [2, 60]) {
      const world = new NodesWorld(t, { resumable: true });
      const started = gate();
      let operations = 0;
      const counted = ({ logs, records }: Cluster): Partial<Cluster> => ({
        logs: replaceParts(logs, {
          openOf: async function* (node) {
            for await (const open of logs.openOf(node)) {
              operations++;
              yield open;
            }
          },
          claim: async (...args) => {
            operations++;
            return logs.claim(...args);
          },
        }),
        records: replaceParts(records, {
          delete: async (...args) => {
            operations++;
            return records.delete(...args);
          },
        }),
      });
      const define = ({ server }: LegacyEndpoint) => {
        server.tool("quick", {}, () => "done");
        server.tool("wait", {}, async () => {
          started.open();
          await new Promise(() => {});
          return "";
        });
      };
      const one = world.node(define);
      const other = world.node(define, counted);
      for (let count = 0; count < sessions; count++) {
        const client = await one.endpoint.open();
        await client.call(1, "quick").done;
        await status(client.delete(), 200);
      }
      const client = await one.endpoint.open();
      const call = client.call(7, "wait");
      await started.opened;
      await pass(world, 1_000, 500);
      const resumed = at(other, client).get(blocks(call)[0]?.id);
      await settle();
      operations = 0;
      world.state.cut(one.cluster);
      await pass(world, 30_000, 500);
      await resumed.done;
      match(messages(resumed)[0]?.error?.message ?? "", /process that served this request has died/);
      costs.push(operations);
    }
    equal(costs[0], costs[1], `operations: ${costs}`);
    equal((costs[0] ?? 0) > 0, true);
  },
);
