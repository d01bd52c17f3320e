import { deepEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";
import { assertNoGrowth, createWaiting } from "../support/abort-many.js";
import { bareChannels } from "../support/bare-wire.js";
import { type Census, takeCensus } from "../support/census.js";
import { proves, verifies } from "../support/verifies.js";

verifies("protocol:cancel:frees-resources", bareChannels, async (world) => {
  const empty = await takeCensus();
  const { server, reached } = createWaiting();
  const { client, close } = await world.connect(server);
  await assertNoGrowth(client, { reached, stats: () => ({ ...server.stats() }) });
  await close();
  deepEqual((await takeCensus()).resources, empty.resources);
});

for (const era of ["modern", "legacy"] as const) {
  const title = "a process of its own holds no more after ten thousand cancelled calls, nor does its client";
  proves("protocol:cancel:frees-resources", { wire: `${era}-stdio` }, title, async () => {
    const empty = await takeCensus();
    const program = fileURLToPath(new URL("../support/waiting-server.js", import.meta.url));
    const client = await connect({ command: process.execPath, args: [program] }, { era });
    const ask = async <T>(tool: string) => (await client.callTool(tool)).structured as T;
    const stats = async () => {
      // The call that asks is running.
      const { running = 0, ...others } = await ask<Record<string, number>>("stats");
      return { ...others, running: running - 1 };
    };
    try {
      const view = {
        stats,
        reached: async (kind: string, count: number) => void (await client.callTool("reached", { kind, count })),
      };
      await assertNoGrowth(client, view, () => ask<Census>("census"));
    } finally {
      await client.close();
    }
    deepEqual((await takeCensus()).resources, empty.resources);
  });
}
