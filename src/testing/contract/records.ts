import type { Cluster, IndexEntry, IndexPlace } from "../../cluster/cluster.js";
import { deepEqual, equal, notEqual, ok } from "./assert.js";
import { type Case, LIFE_MS, PAST_LIFE_MS } from "./world.js";

const keysOf = async (node: Cluster, index: string, after?: IndexPlace, limit = 100) => {
  const listed = await node.records.list(index, { limit, ...(after === undefined ? {} : { after }) });
  return listed.map(({ key }) => key);
};

/** Difference of the clocks of the test and the engine in a wait. */
const CLOCK_MS = 50;

const at = (score: number, index = "all") => [{ index, score }];

export function recordsContract(add: Case): void {
  versions(add);
  lives(add);
  remainders(add);
  indexes(add);
}

function versions(add: Case): void {
  add("a record of one node is read on another", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    equal(await a.records.get("k"), undefined);
    const version = await a.records.put("k", 'väl"ue 🙂\n');
    const { key, value, version: read } = (await b.records.get("k")) ?? {};
    deepEqual({ key, value, read }, { key: "k", value: 'väl"ue 🙂\n', read: version });
  });

  add("each put changes the version, also of an equal value and after a deletion", async ({ node }) => {
    const { records } = await node();
    const versions = new Set([await records.put("k", "v"), await records.put("k", "v")]);
    equal(await records.delete("k"), true);
    versions.add(await records.put("k", "v"));
    equal(versions.size, 3);
    ok(!versions.has(undefined));
  });

  add("ifVersion stores only on the version that was read", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const first = (await a.records.put("k", "1")) ?? "";
    const second = await b.records.put("k", "2", { ifVersion: first });
    notEqual(second, undefined);
    equal(await a.records.put("k", "3", { ifVersion: first }), undefined);
    equal((await a.records.get("k"))?.value, "2");
    equal((await a.records.get("k"))?.version, second);
    equal(await a.records.put("none", "1", { ifVersion: first }), undefined);
    equal(await a.records.get("none"), undefined);
  });

  add("ifVersion null stores only where there is no record", async ({ node }) => {
    const { records } = await node();
    notEqual(await records.put("k", "1", { ifVersion: null }), undefined);
    equal(await records.put("k", "2", { ifVersion: null }), undefined);
    equal((await records.get("k"))?.value, "1");
    await records.delete("k");
    notEqual(await records.put("k", "3", { ifVersion: null }), undefined);
  });

  add("one of many nodes that compare and set wins", async ({ node }) => {
    const nodes = await Promise.all([node(), node(), node()]);
    const version = (await nodes[0]?.records.put("k", "0")) ?? "";
    const tries = nodes.flatMap(({ records }) =>
      ["a", "b", "c"].map(async (value) => records.put("k", value, { ifVersion: version })),
    );
    equal((await Promise.all(tries)).filter((won) => won !== undefined).length, 1);
    const firsts = nodes.map(async ({ records, node }) => records.put("new", node, { ifVersion: null }));
    equal((await Promise.all(firsts)).filter((won) => won !== undefined).length, 1);
  });

  add("increments of many nodes by compare and set are all counted", async ({ node }) => {
    const nodes = await Promise.all([node(), node(), node()]);
    await nodes[0]?.records.put("k", "0");
    const increment = async ({ records }: Cluster) => {
      for (let done = 0; done < 10; ) {
        const { value, version } = (await records.get("k")) ?? { value: "", version: "" };
        if ((await records.put("k", String(Number(value) + 1), { ifVersion: version })) !== undefined) done++;
      }
    };
    await Promise.all(nodes.map(increment));
    equal((await nodes[0]?.records.get("k"))?.value, "30");
  });

  add("delete removes a record, with ifVersion only that version", async ({ node }) => {
    const { records } = await node();
    const first = (await records.put("k", "1")) ?? "";
    const second = (await records.put("k", "2")) ?? "";
    equal(await records.delete("k", first), false);
    equal((await records.get("k"))?.value, "2");
    equal(await records.delete("k", second), true);
    equal(await records.get("k"), undefined);
    equal(await records.delete("k"), false);
    equal(await records.delete("k", second), false);
  });
}

function lives(add: Case): void {
  add("a record is gone after its life, with its index entries", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    const version = (await a.records.put("short", "1", { ttlMs: LIFE_MS, index: at(1) })) ?? "";
    await a.records.put("long", "1", { ttlMs: 100 * LIFE_MS, index: at(2) });
    await a.records.put("for ever", "1", { index: at(3) });
    equal(await b.records.count("all"), 3);
    await elapse(PAST_LIFE_MS);
    equal(await b.records.get("short"), undefined);
    deepEqual(await keysOf(b, "all"), ["long", "for ever"]);
    equal(await b.records.count("all"), 2);
    equal(await b.records.put("short", "2", { ifVersion: version }), undefined);
    equal(await b.records.delete("short"), false);
    equal(await b.records.touch("short", LIFE_MS), false);
    notEqual(await b.records.put("short", "2", { ifVersion: null }), undefined);
  });

  add("a put replaces the life of a record", async ({ node, elapse }) => {
    const { records } = await node();
    await records.put("longer", "1", { ttlMs: LIFE_MS });
    await records.put("longer", "2", { ttlMs: 100 * LIFE_MS });
    await records.put("endless", "1", { ttlMs: LIFE_MS });
    await records.put("endless", "2");
    await records.put("shorter", "1", { ttlMs: 100 * LIFE_MS });
    await records.put("shorter", "2", { ttlMs: LIFE_MS });
    await elapse(PAST_LIFE_MS);
    equal((await records.get("longer"))?.value, "2");
    equal((await records.get("endless"))?.value, "2");
    equal(await records.get("shorter"), undefined);
  });

  add("a put that does not match leaves the life of the record", async ({ node, elapse }) => {
    const { records } = await node();
    await records.put("k", "1", { ttlMs: LIFE_MS });
    equal(await records.put("k", "2", { ifVersion: null, ttlMs: 100 * LIFE_MS }), undefined);
    await elapse(PAST_LIFE_MS);
    equal(await records.get("k"), undefined);
  });

  add("touch extends the life of a record and its index entries, and keeps its version", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    const version = await a.records.put("k", "1", { ttlMs: LIFE_MS, index: at(1) });
    equal(await b.records.touch("k", 100 * LIFE_MS), true);
    equal(await b.records.touch("none", LIFE_MS), false);
    await elapse(PAST_LIFE_MS);
    equal((await a.records.get("k"))?.version, version);
    deepEqual(await keysOf(a, "all"), ["k"]);
    equal(await a.records.count("all"), 1);
    equal(await a.records.touch("k", LIFE_MS), true);
    await elapse(PAST_LIFE_MS);
    equal(await a.records.get("k"), undefined);
    equal(await a.records.count("all"), 0);
  });
}

function remainders(add: Case): void {
  const leftOf = async ({ records }: Cluster) => {
    const listed = await records.list("all", { limit: 10 });
    return Object.fromEntries(listed.map(({ key, leftMs }) => [key, leftMs]));
  };

  add("a listing tells the remaining life of each record", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    const ttlMs = 100 * LIFE_MS;
    for (const [score, key] of ["untouched", "touched", "put again"].entries())
      await a.records.put(key, "1", { ttlMs, index: at(score) });
    await a.records.put("for ever", "1", { index: at(3) });
    await elapse(PAST_LIFE_MS);
    await b.records.touch("touched", ttlMs);
    await b.records.put("put again", "2", { ttlMs: 2 * ttlMs, index: at(4) });
    const left = await leftOf(b);
    equal(left["for ever"], undefined);
    const { untouched = 0, touched = 0, "put again": again = 0 } = left;
    ok(untouched > 0 && untouched <= ttlMs - PAST_LIFE_MS + CLOCK_MS, `untouched: ${untouched}`);
    ok(touched > untouched + LIFE_MS && touched <= ttlMs, `touched: ${touched}`);
    ok(again > ttlMs && again <= 2 * ttlMs, `put again: ${again}`);
  });

  add("a put without a life ends the remaining life of a record", async ({ node }) => {
    const a = await node();
    await a.records.put("k", "1", { ttlMs: LIFE_MS, index: at(1) });
    await a.records.put("k", "2", { index: at(1) });
    deepEqual(await leftOf(a), { k: undefined });
    await a.records.touch("k", 100 * LIFE_MS);
    ok(((await leftOf(a)).k ?? 0) > LIFE_MS);
  });
}

function indexes(add: Case): void {
  add("an index lists records by score, then by key, with their values", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const scores = { d: 2, c: 1_800_000_000_001.5, b: 1_800_000_000_001, a: 2, e: -7 };
    for (const [key, score] of Object.entries(scores)) await a.records.put(key, `of ${key}`, { index: at(score) });
    await a.records.put("other", "", { index: at(0, "another") });
    deepEqual(await keysOf(b, "all"), ["e", "a", "d", "b", "c"]);
    deepEqual(await keysOf(b, "none"), []);
    equal(await b.records.count("none"), 0);
    const first = (await b.records.list("all", { limit: 1 }))[0];
    const version = (await b.records.get("e"))?.version;
    const { key, value, score } = first ?? {};
    deepEqual({ key, value, score, version: first?.version }, { key: "e", value: "of e", score: -7, version });
  });

  add("a listing goes on after a place, also of a record that is gone", async ({ node }) => {
    const a = await node();
    const { records } = a;
    const list = (after?: IndexPlace, limit?: number) => keysOf(a, "all", after, limit);
    for (const key of ["a", "b", "c", "d", "e"]) await records.put(key, "", { index: at(key < "d" ? 1 : 2) });
    deepEqual(await list(undefined, 2), ["a", "b"]);
    await records.delete("b");
    deepEqual(await list({ score: 1, key: "b" }, 2), ["c", "d"]);
    await records.put("ba", "", { index: at(1) });
    deepEqual(await list({ score: 1, key: "b" }, 2), ["ba", "c"]);
    deepEqual(await list({ score: 2, key: "d" }), ["e"]);
    deepEqual(await list({ score: 2, key: "e" }), []);
  });

  add("a change of a known version moves an index entry, and keeps or removes others", async ({ node }) => {
    const a = await node();
    await a.records.put("other", "1", { index: at(2, "moved") });
    const change = async (ifVersion: string | null | undefined, index: readonly IndexEntry[]) => {
      ok(ifVersion !== undefined);
      return a.records.put("k", "1", { ifVersion, index });
    };
    const first = await change(null, [...at(3, "moved"), ...at(1, "kept"), ...at(1, "removed")]);
    const second = await change(first, [...at(1, "moved"), ...at(1, "kept"), ...at(1, "removed")]);
    deepEqual(await keysOf(a, "moved", undefined, 1), ["k"]);
    await change(second, [...at(1, "moved"), ...at(1, "kept")]);
    deepEqual(await Promise.all(["moved", "kept", "removed"].map((index) => a.records.count(index))), [2, 1, 0]);
    deepEqual(await keysOf(a, "removed"), []);
  });

  add("index entries follow a life that a change of a known version shortens or extends", async ({ node, elapse }) => {
    const { records } = await node();
    const put = (name: string, ttlMs: number | undefined, ifVersion: string | null) =>
      records.put(name, "", { ifVersion, index: at(1, name), ...(ttlMs !== undefined && { ttlMs }) });
    const lives = [
      ["shortened", 100 * LIFE_MS, LIFE_MS],
      ["limited", undefined, LIFE_MS],
      ["extended", LIFE_MS, 100 * LIFE_MS],
      ["unlimited", LIFE_MS, undefined],
    ] as const;
    for (const [name, first, second] of lives) {
      const version = await put(name, first, null);
      ok(version !== undefined && (await put(name, second, version)) !== undefined);
    }
    const counts = () => Promise.all(lives.map(([name]) => records.count(name)));
    deepEqual(await counts(), [1, 1, 1, 1]);
    await elapse(PAST_LIFE_MS);
    deepEqual(await counts(), [0, 0, 1, 1]);
  });

  add("a put replaces the index entries of a record", async ({ node }) => {
    const a = await node();
    const both = [...at(1, "one"), ...at(1, "two")];
    await a.records.put("k", "1", { index: both });
    await a.records.put("other", "1", { index: at(2, "one") });
    await a.records.put("k", "2", { index: at(3, "one") });
    deepEqual(await keysOf(a, "one"), ["other", "k"]);
    deepEqual(await keysOf(a, "two"), []);
    equal(await a.records.count("one"), 2);
    equal(await a.records.count("two"), 0);
    equal(await a.records.put("k", "3", { ifVersion: null, index: both }), undefined);
    deepEqual(await keysOf(a, "two"), []);
    await a.records.put("k", "4", { index: [...at(3, "one"), ...at(5, "two")] });
    deepEqual([await keysOf(a, "one"), await keysOf(a, "two")], [["other", "k"], ["k"]]);
    equal(await a.records.count("one"), 2);
    await a.records.put("k", "5");
    deepEqual(await keysOf(a, "one"), ["other"]);
    await a.records.delete("other");
    deepEqual([await keysOf(a, "one"), await a.records.count("one")], [[], 0]);
  });
}
