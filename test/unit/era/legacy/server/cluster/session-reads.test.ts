import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { EarlyReads } from "#src/era/legacy/server/cluster/session-reads.js";
import { FakeClock } from "../../../../../support/fake-clock.js";

function open(cacheMs: number) {
  const clock = new FakeClock();
  const read: string[] = [];
  return { clock, read, reads: new EarlyReads(clock, cacheMs, (id) => read.push(id)) };
}

test("reads that are planned within a twentieth of the time happen together, each once", () => {
  const { clock, read, reads } = open(1_000);
  for (const id of ["a", "b", "a"]) reads.add(id);
  clock.advance(30);
  reads.add("c");
  clock.advance(19);
  deepEqual(read, []);
  clock.advance(1);
  deepEqual(read, ["a", "b", "c"]);
  reads.add("a");
  clock.advance(50);
  deepEqual(read, ["a", "b", "c", "a"]);
  equal(clock.pending, 0);
});

test("nothing is read after the end", () => {
  const { clock, read, reads } = open(1_000);
  reads.add("a");
  reads.close();
  clock.advance(1_000);
  deepEqual(read, []);
  equal(clock.pending, 0);
});
