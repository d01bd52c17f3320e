import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { eachJob, JobsAtOnce } from "#src/cluster/queue.js";

test("a worker asks for more jobs while it finds as many, up to its room", () => {
  let room = 100;
  const atOnce = new JobsAtOnce(() => room);
  const asked = (find: (asked: number) => number) => {
    const number = atOnce.ask();
    atOnce.found(find(number));
    return number;
  };
  const all = (number: number) => number;
  deepEqual([asked(all), asked(all), asked(all), asked(all), asked(all)], [1, 2, 4, 8, 8]);
  room = 3;
  deepEqual([asked(all), asked(all)], [3, 3]);
  room = 0;
  deepEqual([asked(all)], [1]);
  room = 100;
  deepEqual([asked(all), asked(() => 1), asked(() => 0), asked(all), asked(all)], [2, 4, 1, 1, 2]);
});

test("jobs that are lost are left out, and those after the end are given back", async () => {
  const back: number[] = [];
  const taken = Array.from({ length: 5 }, (_, id) => ({ id, job: { id, lost: new AbortController().signal } }));
  const lost = { id: 9, job: { id: 9, lost: AbortSignal.abort() } };
  const got: number[] = [];
  const jobs = eachJob(
    [lost, ...taken],
    () => got.length === 2,
    async ({ id }) => back.push(id),
  );
  for await (const { id } of jobs) got.push(id);
  deepEqual(
    [got, back],
    [
      [0, 1],
      [2, 3, 4],
    ],
  );
});
