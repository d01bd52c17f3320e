import assert from "node:assert/strict";
import { test } from "node:test";
import { SmallMap } from "#src/protocol/jsonrpc/small-map.js";

/** A fixed sequence that looks random. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

for (const [name, many] of [
  ["few", 4],
  ["many", 300],
] as const)
  test(`it holds what a map holds, whatever is done to it: ${name}`, () => {
    const next = numbers(7);
    const slot = new SmallMap<number | string, number>();
    const map = new Map<number | string, number>();
    for (let step = 0; step < 10_000; step++) {
      const number = next(many);
      const key = next(2) === 0 ? number : String(number);
      const act = next(many * 5);
      if (act === 0) {
        slot.clear();
        map.clear();
      } else if (act < many * 3) {
        if (act % 2 === 0 && !map.has(key)) slot.add(key, step);
        else slot.set(key, step);
        map.set(key, step);
      } else if (act % 2 === 0) {
        assert.equal(slot.take(key), map.get(key));
        map.delete(key);
      } else assert.equal(slot.delete(key), map.delete(key));
      assert.deepEqual([slot.size, slot.has(key), slot.get(key)], [map.size, map.has(key), map.get(key)]);
      assert.deepEqual(slot.values().sort(), [...map.values()].sort());
    }
  });

test("an undefined key is a key", () => {
  const slot = new SmallMap<undefined, string>();
  assert.deepEqual([slot.has(undefined), slot.size], [false, 0]);
  slot.set(undefined, "here");
  assert.deepEqual([slot.get(undefined), slot.size, slot.delete(undefined), slot.size], ["here", 1, true, 0]);
});
