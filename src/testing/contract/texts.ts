import { deepEqual, equal } from "./assert.js";
import { arrival, listen } from "./bus.js";
import { dataOf, LOG, openOf, write } from "./logs.js";
import { worker } from "./queue.js";
import { type Case, LIFE_MS } from "./world.js";

const LONG = "0123456789ü".repeat(20_000);
/** Name with characters that have a meaning in keys, patterns, channels or statements of engines. */
const ODD = `a:b {c}* [d]? 'e' "f" \\ %s $1 \n ü🙂`;

/** Names and texts of any length and any characters. */
export function textsContract(add: Case): void {
  add("long texts are stored and sent unchanged", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    await a.records.put("k", LONG);
    equal((await b.records.get("k"))?.value === LONG, true);
    await a.logs.create("l", LOG);
    await write(await a.logs.claim("l", "s"), [LONG]);
    equal((await dataOf(b, "l", "s"))?.[0] === LONG, true);
    const inbox = await listen(b, "t");
    await a.bus.publish("t", LONG);
    await arrival(inbox, LONG);
    const { jobs, reaches } = worker(stage, b);
    await a.queue.add("j", LONG);
    await reaches(1);
    equal(jobs[0]?.job === LONG, true);
  });

  add("names may have any characters", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    await a.records.put(ODD, "v", { index: [{ index: ODD, score: 1 }] });
    equal((await b.records.list(ODD, { limit: 1 }))[0]?.key, ODD);
    equal((await b.records.get(ODD))?.value, "v");
    await a.logs.create(ODD, LOG);
    const [id = ""] = await write(await a.logs.claim(ODD, ODD), ["1"]);
    equal(await b.logs.find(ODD, id), ODD);
    deepEqual(await openOf(b, a.node), [`${ODD}/${ODD}`]);
    const inbox = await listen(b, ODD);
    await a.bus.publish(ODD, "m");
    await arrival(inbox, "m");
    equal((await a.leases.acquire(ODD, LIFE_MS)) === undefined, false);
    equal(await b.leases.acquire(ODD, LIFE_MS), undefined);
    const { jobs, reaches } = worker(stage, b);
    await a.queue.add(ODD, ODD);
    await reaches(1);
    deepEqual([jobs[0]?.id, jobs[0]?.job], [ODD, ODD]);
    equal((await a.buckets.take(ODD, { burst: 1, refillMs: 100_000 })).ok, true);
  });

  add("the parts of a cluster have names of their own", async ({ node }) => {
    const a = await node();
    await a.records.put("n", "record");
    await a.logs.create("n", LOG);
    await write(await a.logs.claim("n", "n"), ["entry"]);
    await a.leases.acquire("n", LIFE_MS);
    equal(await a.queue.add("n", "job"), true);
    await a.buckets.take("n", { burst: 1, refillMs: 100_000 });
    equal((await a.records.get("n"))?.value, "record");
    deepEqual(await dataOf(a, "n", "n"), ["entry"]);
    equal(await a.records.delete("n"), true);
    await a.logs.drop("n");
    equal(await a.queue.add("n", "job"), false);
  });
}
