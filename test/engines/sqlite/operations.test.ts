import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "#src/sqlite/session.js";
import type { Scope } from "#src/testing/contract/world.js";
import { FileProcess } from "../../support/engines/file-process.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";
import { FakeClock } from "../../support/fake-clock.js";
import { Seeded } from "../../support/seeded.js";

const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (path: string) => Database };

const LIMITS = { keepMs: 10_000, maxEntries: 100, maxBytes: 10_000, maxStreams: 10 };
const NOTICE = "l log";

function open(t: Scope) {
  const { path } = new SqliteWorld(t);
  const clock = new FakeClock();
  const process = new FileProcess(t, path, () => new DatabaseSync(path), clock);
  return { process, clock, path };
}

test("a notice is sent with what is stored, once for a transaction", (t) => {
  const { process } = open(t);
  const put = (key: string, value: unknown = "") => {
    const options = { version: "1", ifVersion: null, notice: "q" };
    return ["put", [key, value, options]] as ["put", readonly unknown[]];
  };
  deepEqual(process.outcomes(put("a"), put("b"), put("a")), [{ value: true }, { value: true }, { value: true }]);
  deepEqual(process.heard(), ["q"]);
  process.run("put", "a", "", { version: "2", ifVersion: null, notice: "q" });
  process.outcomes(put("c", Symbol.iterator));
  deepEqual(process.heard(), [], "nothing was stored");
  const [one, failed] = process.outcomes(put("d"), put("e", Symbol.iterator));
  deepEqual([one, failed && "failure" in failed], [{ value: true }, true]);
  deepEqual(process.heard(), ["q"]);
});

test("a put that was carried out can be repeated, as long as the record has its version", (t) => {
  const { process } = open(t);
  const put = (version: string, ifVersion: string | null) =>
    process.run("put", "k", version, { version, ifVersion, notice: "q" });
  deepEqual([put("1", null), put("1", null), put("2", "1"), put("2", "1")], [true, true, true, true]);
  deepEqual([put("1", null), put("3", "1")], [false, false]);
  equal(process.run("get", "k")?.value, "2");
  deepEqual(process.heard(), ["q", "q"]);
});

test("a record counts how often it was taken, until it is deleted or over", (t) => {
  const { process, clock } = open(t);
  const put = (options: { ifVersion?: string; ttlMs?: number }) =>
    process.run("put", "k", "", { version: "1", index: [{ index: "due", score: 0 }], ...options });
  const take = (token: string) => {
    const taken = process.run("takeDue", "due", { most: 1, leaseMs: 0, token });
    return typeof taken === "object" ? taken.map(({ takes }) => takes) : taken;
  };
  put({});
  deepEqual([take("a"), take("b")], [[1], [2]]);
  put({ ifVersion: "b", ttlMs: 1_000 });
  deepEqual(take("c"), [3]);
  put({ ifVersion: "c", ttlMs: 1_000 });
  clock.advance(1_001);
  put({});
  deepEqual(take("d"), [1]);
  process.run("delete", "k", undefined);
  put({});
  deepEqual(take("e"), [1]);
});

test("the number of entries of an index is right after any changes, and nothing is left of an empty index", (t) => {
  const { process, clock, path } = open(t);
  const random = new Seeded(7);
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  const indexes = ["one", "two", "three"];
  const keys = Array.from({ length: 20 }, (_, at) => `k${at}`);
  for (let step = 0; step < 500; step++) {
    const key = random.pick(keys);
    const index = indexes.filter(() => random.below(2) === 0).map((name) => ({ index: name, score: random.below(5) }));
    const kind = random.below(5);
    if (kind === 0) process.run("delete", key, undefined);
    else if (kind === 1) process.run("takeDue", random.pick(indexes), { most: 3, leaseMs: 5, token: `t${step}` });
    else process.run("put", key, "", { version: `${step}`, index, ...(kind === 2 && { ttlMs: 50 }) });
    clock.advance(random.below(10));
    if (random.below(50) === 0) process.run("sweep", 0);
    for (const name of indexes)
      equal(process.run("count", name), process.run("list", name, undefined, 100).length, `${name} in step ${step}`);
    deepEqual(
      other.prepare("select name, entries from counts order by name").all(),
      other.prepare("select name, count(*) as entries from indexed group by name order by name").all(),
    );
  }
  for (const key of keys) process.run("delete", key, undefined);
  clock.advance(1_000);
  process.run("sweep", 0);
  equal(other.prepare("select count(*) as n from counts").get()?.n, 0);
});

test("several entries are appended up to the first that is refused, and can be repeated", (t) => {
  const { process } = open(t);
  process.run("create", "log", LIMITS);
  const id = process.run("claim", "log", "s", "node", "claim") ?? "";
  const claimed = { log: "log", stream: "s", id, claim: "claim" };
  const append = (seq: number, ...texts: readonly string[]) => {
    const entries = texts.map((data) => ({ data, last: data === "end" }));
    return process.run("append", claimed, seq, entries, NOTICE);
  };
  deepEqual(append(0, "a", "b", "c"), ["1", "2", "3"]);
  deepEqual(process.heard(), [NOTICE]);
  deepEqual(append(1, "b", "c", "d"), ["2", "3", "4"]);
  deepEqual(append(3, "other", "e"), ["different:4"]);
  deepEqual(append(6, "g"), ["order:4"]);
  deepEqual(append(4, "end", "late", "later"), ["5", "ended"]);
  process.run("claim", "log", "s", "node", "another");
  deepEqual(append(5, "x", "y"), ["fenced"]);
  process.heard();
  process.run("drop", "log", NOTICE);
  deepEqual(append(5, "x", "y"), ["dropped"]);
  process.run("drop", "log", NOTICE);
  deepEqual(process.heard(), [NOTICE]);
});

test("a place of a log means an entry of its own claim only", (t) => {
  const { process } = open(t);
  process.run("create", "log", LIMITS);
  const id = process.run("claim", "log", "s", "node", "claim") ?? "";
  process.run("append", { log: "log", stream: "s", id, claim: "claim" }, 0, [{ data: "a", last: false }], NOTICE);
  const kept = (place: object) => {
    const whole = { id, n: "1", claim: "claim", ...place };
    return [process.run("find", "log", whole), process.run("read", "log", "s", whole, 10)?.isKept];
  };
  deepEqual(kept({}), ["s", true]);
  for (const place of [{ claim: "other" }, { id: "2" }, { n: "2" }]) deepEqual(kept(place), [undefined, false]);
});

test("entries that are over and not swept are trimmed, and a stream whose end is over is forgotten", (t) => {
  const { process, clock } = open(t);
  process.run("create", "log", LIMITS);
  const write = (stream: string, seq: number, data: string, last = false) => {
    if (seq === 0) process.run("claim", "log", stream, "node", stream);
    return process.run("append", { log: "log", stream, id: "1", claim: stream }, seq, [{ data, last }], NOTICE);
  };
  write("open", 0, "1");
  write("ended", 0, "2", true);
  clock.advance(6_000);
  write("open", 1, "3");
  clock.advance(6_000);
  const { entries, ...state } = process.run("read", "log", "open", undefined, 10) ?? {};
  deepEqual(
    entries?.map(({ n, data }) => [n, data]),
    [["3", "3"]],
  );
  deepEqual(state, { id: "1", isKept: true, trimmed: "1", isKnown: true, isEnded: false, top: "3" });
  const { isKnown, isEnded, top } = process.run("read", "log", "ended", undefined, 10) ?? {};
  deepEqual({ isKnown, isEnded, top }, { isKnown: false, isEnded: false, top: "0" });
  deepEqual(write("open", 1, "3"), ["3"]);
  process.run("claim", "log", "open", "node", "open");
  match(String(write("ended", 0, "again")), /^4$/);
});

test("tokens that are taken in one moment are exact", (t) => {
  const { process, clock } = open(t);
  for (const refillMs of [1 / 3, 7, 1_000 / 6, 1_000 / 7, 100_000]) {
    const key = String(refillMs);
    const take = (want: number) => process.run("takeTokens", key, 10, refillMs, want).given;
    deepEqual(
      Array.from({ length: 12 }, () => take(1)),
      [...Array(10).fill(1), 0, 0],
    );
    clock.advance(3 * refillMs);
    deepEqual([take(16), take(16)], [3, 0]);
    clock.advance(100 * refillMs);
    deepEqual([take(16), take(16)], [10, 0]);
    deepEqual(process.run("takeTokens", key, 1, refillMs, 1), { given: 0, retryInMs: refillMs });
  }
});
