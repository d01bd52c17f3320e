import { deepEqual } from "node:assert/strict";
import { assertNoGrowth, createWaiting } from "../support/abort-many.js";
import { modernNode } from "../support/bare-wire.js";
import { takeCensus } from "../support/census.js";
import { verifies } from "../support/verifies.js";

verifies("protocol:cancel:frees-resources", modernNode, async (world) => {
  const empty = await takeCensus();
  const { server, reached } = createWaiting();
  const { client, quiet, close } = await world.connect(server);
  await assertNoGrowth(client, { reached, stats: () => ({ ...server.stats() }), quiet });
  await close();
  deepEqual((await takeCensus()).resources, empty.resources);
});
