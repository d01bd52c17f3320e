import { deepEqual, equal, ok } from "node:assert/strict";
import { dataOf, LOG, write } from "#src/testing/contract/logs.js";
import { casesOf, collect, failureOf, LIFE_MS, type Open, type Stage, until } from "#src/testing/contract/world.js";
import { registerAs } from "./register.js";

/** Registers the tests of a cluster whose engine has no room, and gets some again. */
export function fullContract(name: string, open: Open): void {
  const add = casesOf(registerAs(name), open);

  add("a full engine refuses for now, without having done anything", async (stage) => {
    const { a, engine } = await begin(stage);
    await a.records.put("kept", "1");
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    await write(writer, ["0"]);
    await engine.fill();
    const operations = {
      put: () => a.records.put("k", "v", { index: [{ index: "i", score: 1 }] }),
      "put again": () => a.records.put("kept", "2"),
      create: () => a.logs.create("other", LOG),
      claim: () => a.logs.claim("l", "t"),
      append: () => writer.append(1, "1"),
      acquire: () => a.leases.acquire("lease", LIFE_MS),
      add: () => a.queue.add("j", ""),
    };
    for (const [title, run] of Object.entries(operations)) equal(await failureOf(run), "unavailable", title);
    equal(a.available, false);
    equal((await a.records.get("kept"))?.value, "1");
    equal(await a.records.get("k"), undefined);
    deepEqual(await dataOf(a, "l", "s"), ["0"]);
    await engine.free();
    await until(() => a.available, "the node knows that there is room");
    ok(await a.records.put("k", "v", { index: [{ index: "i", score: 1 }] }));
    equal(await a.records.count("i"), 1);
    ok(await a.leases.acquire("lease", LIFE_MS));
    equal(await a.queue.add("j", ""), true);
  });

  add("a stream goes on when there is room, without loss and repetition", async (stage) => {
    const { a, b, engine } = await begin(stage);
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
    await write(writer, ["0"]);
    await engine.fill();
    for (let attempt = 0; attempt < 3; attempt++)
      equal(await failureOf(() => writer.append(1, "1", { last: true })), "unavailable");
    await engine.free();
    await until(async () => (await failureOf(() => writer.append(1, "1", { last: true }))) === undefined, "room");
    await followed.end;
    deepEqual(
      followed.items.map(({ data, last }) => [data, last]),
      [
        ["0", false],
        ["1", true],
      ],
    );
  });

  add("a gap is told when there is room again, and the engine can be read meanwhile", async (stage) => {
    const { a, b, engine } = await begin(stage);
    let gaps = 0;
    a.bus.onGap(() => gaps++);
    await engine.fill();
    equal(await failureOf(() => a.records.put("k", "v")), "unavailable");
    equal(a.available, false);
    equal(b.available, true, "a node that stores nothing does not notice");
    equal(await a.records.get("k"), undefined);
    equal(gaps, 0);
    await engine.free();
    await until(() => gaps > 0 && a.available, "the gap is told");
    ok(await a.records.put("k", "v"));
  });
}

async function begin({ node, engine }: Stage) {
  const { fill, free } = engine;
  if (fill === undefined || free === undefined) throw new Error("the engine of this adapter cannot be filled");
  return { a: await node(), b: await node(), engine: { fill, free } };
}
