import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { memoryCache } from "bowline/client";
import { type CacheRecord, MemoryCacheStore } from "#src/client/cache/store.js";

/** A record of so many characters as JSON. */
function sized(chars: number): CacheRecord {
  const empty = JSON.stringify(["", { result: { pad: "" }, storedAt: 0, ttlMs: 0 }]).length;
  return [["", { result: { pad: "x".repeat(chars - empty) }, storedAt: 0, ttlMs: 0 }]];
}

const keys = (store: MemoryCacheStore) => ["a", "b", "c", "d"].filter((key) => store.get(key) !== undefined);

test("as many records are kept as are allowed; one more pushes out the oldest of its kind", () => {
  const store = new MemoryCacheStore(2, 1e6);
  for (const key of ["a", "b"]) store.set(key, sized(100), "read");
  equal(store.size, 2);
  store.set("c", sized(100), "read");
  deepEqual(keys(store), ["b", "c"]);
  for (const key of ["a", "d"]) store.set(key, sized(100), "list");
  equal(store.size, 4);
});

test("a record is kept up to the very size of the cache", () => {
  const store = new MemoryCacheStore(10, 200);
  store.set("a", sized(200), "read");
  deepEqual(keys(store), ["a"]);
  store.set("b", sized(201), "read");
  deepEqual(keys(store), ["a"], "what is too large pushes nothing out");
  store.set("a", sized(201), "read");
  deepEqual(keys(store), [], "what it replaces is out of date");
});

test("records fill the cache to the very size; one character more pushes out resources before lists", () => {
  const store = new MemoryCacheStore(10, 300);
  store.set("a", sized(100), "list");
  store.set("b", sized(100), "read");
  store.set("c", sized(100), "read");
  deepEqual(keys(store), ["a", "b", "c"]);
  store.set("d", sized(101), "list");
  deepEqual(keys(store), ["a", "d"], "two resources make room for one list");
  store.set("b", sized(99), "read");
  deepEqual(keys(store), ["a", "b", "d"]);
});

test("what is read lately stays longer, and what is deleted leaves its room", () => {
  const store = new MemoryCacheStore(2, 300);
  store.set("a", sized(100), "read");
  store.set("b", sized(100), "read");
  store.get("a");
  store.set("c", sized(100), "read");
  deepEqual(keys(store), ["a", "c"]);
  store.delete("a");
  store.delete("c");
  equal(store.size, 0);
  store.set("d", sized(300), "list");
  deepEqual(keys(store), ["d"]);
});

test("a cache of the user takes its limits by name", async () => {
  const few = memoryCache({ maxEntries: 1 });
  for (const key of ["a", "b"]) await few.set(key, sized(100), "read");
  deepEqual([await few.get("a"), (await few.get("b"))?.length], [undefined, 1]);
  const small = memoryCache({ maxChars: 150 });
  for (const key of ["a", "b"]) await small.set(key, sized(100), "read");
  deepEqual([await small.get("a"), (await small.get("b"))?.length], [undefined, 1]);
  throws(() => memoryCache({ maxEntries: "1" as never }), { code: "definition_error", message: /maxEntries/ });
});
