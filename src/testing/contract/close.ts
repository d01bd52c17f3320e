import { deepEqual, equal, ok } from "./assert.js";
import { listen } from "./bus.js";
import { LOG, write } from "./logs.js";
import { worker } from "./queue.js";
import { type Case, collect, failsWith, LIFE_MS } from "./world.js";

export function closeContract(add: Case): void {
  add("each node has a name of its own", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    ok(a.node.length > 0 && a.node !== b.node);
    equal(a.available, true);
  });

  add("a closed node ends its iterations and refuses operations", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const followed = collect(a.logs.follow("l", "s", undefined, new AbortController().signal));
    const working = worker(stage, a);
    const inbox = await listen(a, "t");
    await write(writer, ["1"]);
    await followed.reaches(1);
    await stage.close(a);
    await a.close();
    await working.end;
    await failsWith("unavailable", () => followed.end);
    await failsWith("unavailable", () => a.records.get("k"));
    await failsWith("unavailable", () => a.records.put("k", "v"));
    await failsWith("unavailable", () => writer.append(1, "late"));
    await failsWith("unavailable", () => a.bus.publish("t", ""));
    await failsWith("unavailable", () => a.leases.acquire("l", LIFE_MS));
    await failsWith("unavailable", () => a.queue.add("j", ""));
    equal(a.available, false);
    await b.bus.publish("t", "after");
    deepEqual(inbox.texts, []);
    equal(await b.records.get("k"), undefined);
  });
}
