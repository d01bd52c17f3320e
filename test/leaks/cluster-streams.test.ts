import { deepEqual, ok } from "node:assert/strict";
import { takeCensus } from "../support/census.js";
import { aborted } from "../support/gate.js";
import { blocks, status, until } from "../support/legacy-endpoint.js";
import { at, type Node, NodesWorld } from "../support/nodes-world.js";
import { proves } from "../support/verifies.js";

const WARM_UP = 3_000;
const CALLS = 4_000;
/** A hundred and twenty bytes for each call. What one forgotten stream costs is several times that. */
const HEAP_BOUND = 500_000;

proves(
  ["cluster:clients:cancel", "hosting:resume:settled-stream-not-registered"],
  { wire: "legacy-http" },
  "calls that are cancelled in one process and resumed in both leave no memory",
  async (t) => {
    const limits = { maxLoggedEventsPerSession: 100 };
    const world = new NodesWorld(t, { resumable: true }, { limits });
    let running = 0;
    const node = (): Node =>
      world.node(({ server }) => {
        server.tool("wait", {}, async (_args, ctx) => {
          running++;
          throw await aborted(ctx.signal).finally(() => running--);
        });
      });
    const [one, other] = [node(), node()];
    const client = await one.endpoint.open();
    const cancel = async (calls: number) => {
      for (let id = 0; id < calls; id++) {
        const call = client.call(id, "wait");
        await until(() => running === 1, "the handler");
        await status(at(id % 2 === 0 ? one : other, client).cancel(id), 202);
        await call.done;
        for (const place of [one, other]) await status(at(place, client).get(blocks(call)[0]?.id), 204);
        await until(() => running === 0, "the end of the handler");
      }
      return { stats: [one.endpoint.server.stats(), other.endpoint.server.stats()], census: await takeCensus() };
    };
    const before = await cancel(WARM_UP);
    const after = await cancel(CALLS);
    deepEqual(after.stats, before.stats);
    deepEqual(after.census.resources, before.census.resources);
    const growth = after.census.heap - before.census.heap;
    ok(growth < HEAP_BOUND, `the heap grew by ${growth} bytes in ${CALLS} calls`);
  },
);
