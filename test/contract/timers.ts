import { listen } from "#src/testing/contract/bus.js";
import { LOG, write } from "#src/testing/contract/logs.js";
import { worker } from "#src/testing/contract/queue.js";
import { casesOf, collect, LIFE_MS, type Open, type Register, until } from "#src/testing/contract/world.js";

/** Timers and sockets that keep the process alive. */
const held = () => process.getActiveResourcesInfo().filter((kind) => /Timeout|TCP|Pipe/.test(kind)).length;

/** Registers the test of what a closed node leaves in its process. */
export function timersContract(test: Register, open: Open): void {
  const add = casesOf(test, open);
  add("a closed node leaves no timers and no connections", async (stage) => {
    const other = await stage.node();
    const before = held();
    const a = await stage.node();
    await a.records.put("k", "v", { ttlMs: 100 * LIFE_MS });
    await a.logs.create("l", LOG);
    await write(await a.logs.claim("l", "s"), ["1"]);
    const followed = collect(a.logs.follow("l", "s", undefined, new AbortController().signal));
    await listen(a, "t");
    await a.leases.acquire("l", LIFE_MS);
    const working = worker(stage, a);
    await a.queue.add("j", "");
    await Promise.all([followed.reaches(1), working.reaches(1)]);
    await a.buckets.take("k", { burst: 10, refillMs: 100 });
    await stage.close(a);
    await until(() => held() <= before, "the timers and connections of the node are gone", 5_000);
    await other.bus.publish("t", "still there");
  });
}
