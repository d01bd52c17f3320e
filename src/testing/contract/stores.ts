import { takenBy } from "../../cluster/store.js";
import { deepEqual, equal } from "./assert.js";
import { type Case, LIFE_MS, PAST_LIFE_MS } from "./world.js";

/** Rules of a store that its cluster does not show. A world without `store` leaves them out. */
export function storesContract(add: Case): void {
  add("a put that was carried out can be repeated, until another one follows", async (stage) => {
    const store = await stage.store();
    if (store === undefined) return;
    const put = (version: string, ifVersion: string | null) => store.put("k", version, { version, ifVersion });
    deepEqual([await put("1", null), await put("1", null), await put("2", null)], [true, true, false]);
    deepEqual([await put("2", "1"), await put("2", "1"), await put("1", null)], [true, true, false]);
    equal((await store.get("k"))?.value, "2");
  });

  add("touch with a version extends the life of that version only", async (stage) => {
    const store = await stage.store();
    if (store === undefined) return;
    await store.put("k", "", { version: "1", ttlMs: LIFE_MS });
    equal(await store.touch("k", 100 * LIFE_MS, "2"), false);
    await stage.elapse(PAST_LIFE_MS);
    equal(await store.get("k"), undefined);
    await store.put("k", "", { version: "1", ttlMs: LIFE_MS });
    equal(await store.touch("k", 100 * LIFE_MS, "1"), true);
    await stage.elapse(PAST_LIFE_MS);
    equal((await store.get("k"))?.version, "1");
  });

  add("records that were taken have the token as their version, and are listed by it", async (stage) => {
    const store = await stage.store();
    if (store === undefined) return;
    for (const key of ["a", "b", "c"])
      await store.put(key, key, { version: "1", index: [{ index: "due", inMs: key === "c" ? 100 * LIFE_MS : 0 }] });
    const taken = await store.takeDue("due", { most: 8, leaseMs: 100 * LIFE_MS, token: "t" });
    const told =
      typeof taken === "object" ? taken.map(({ key, value, version, takes }) => [key, value, version, takes]) : [];
    deepEqual(told.sort(), [
      ["a", "a", "t", 1],
      ["b", "b", "t", 1],
    ]);
    const listed = await store.list(takenBy("t"), { limit: 10 });
    deepEqual(
      listed.map(({ key, version }) => [key, version]),
      [
        ["a", "t"],
        ["b", "t"],
      ],
    );
    await store.put("a", "a", { version: "2", ifVersion: "t", index: [{ index: "due", inMs: 0 }] });
    equal(await store.count(takenBy("t")), 1);
    equal(typeof (await store.takeDue("due", { most: 1, leaseMs: LIFE_MS, token: "u" })), "object");
  });
}
