import { OPEN_PAGE, takenBy } from "../../cluster/store.js";
import { deepEqual, equal } from "./assert.js";
import { LOG } from "./logs.js";
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

  add("open lists streams without end alone, however many have ended", async (stage) => {
    const store = await stage.store();
    if (store === undefined) return;
    const { logs } = store;
    for (const log of ["dropped", "l", "m"]) await logs.create(log, { ...LOG, maxStreams: 2 * OPEN_PAGE });
    const end = async (log: string, stream: string) => {
      const claim = `${(claims++).toString(16).padStart(12, "0")}`;
      const id = await logs.claim(log, stream, "n", claim);
      await logs.append({ log, stream, id: id ?? "", claim }, 0, [{ data: "bye", last: true }], "");
    };
    let claims = 0;
    await logs.claim("l", "open", "n", "f".repeat(12));
    await Promise.all(Array.from({ length: OPEN_PAGE }, (_, at) => end(at % 2 === 0 ? "l" : "m", `${at}`)));
    await logs.claim("dropped", "open", "n", "e".repeat(12));
    await logs.drop("dropped", "");
    deepEqual(
      (await logs.open("n", undefined)).map(({ log, stream }) => [log, stream]),
      [["l", "open"]],
    );
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
