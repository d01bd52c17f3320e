import { deepEqual } from "node:assert/strict";
import { assertNoGrowth, createWaiting } from "../support/abort-many.js";
import { bareFetch } from "../support/bare-wire.js";
import { takeCensus } from "../support/census.js";
import { verifies } from "../support/verifies.js";

verifies("protocol:cancel:frees-resources", bareFetch, async (world) => {
  const empty = await takeCensus();
  const { server, counts } = createWaiting();
  const { client, rest, close } = await world.connect(server);
  await assertNoGrowth(client, { counts, stats: () => server.stats(), rest });
  await close();
  deepEqual((await takeCensus()).resources, empty.resources);
});
