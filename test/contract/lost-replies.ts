import { deepEqual, ok } from "node:assert/strict";
import { casesOf, type Open } from "#src/testing/contract/world.js";
import { registerAs } from "./register.js";

/** Life of a job that a test does not wait for. */
const LONG_MS = 30_000;

/** Registers the tests of operations that the engine carries out and whose reply is lost. */
export function lostReplyContract(name: string, open: Open): void {
  casesOf(registerAs(name), open)(
    "the jobs of a take whose reply is lost come again, long before their leases end",
    async (stage) => {
      const a = await stage.node();
      const { signal } = new AbortController();
      const jobs = a.queue.take(signal, { leaseMs: LONG_MS, most: () => 8 })[Symbol.asyncIterator]();
      const add = async (count: number, prefix: string) => {
        const ids = Array.from({ length: count }, (_, at) => `${prefix} ${at}`);
        for (const id of ids) await a.queue.add(id, "");
        return ids;
      };
      const take = async (count: number) => {
        const ids: string[] = [];
        while (ids.length < count) {
          const { value } = await jobs.next();
          ids.push(value.id);
          await value.done();
        }
        return ids.sort();
      };
      // A worker takes 1, 2 and 4 jobs at once, then 8.
      deepEqual(
        await take((await add(7, "first")).length),
        [0, 1, 2, 3, 4, 5, 6].map((at) => `first ${at}`),
      );
      const ids = await add(8, "lost");
      stage.loseTake(a);
      const begin = performance.now();
      deepEqual(await take(ids.length), ids);
      const tookMs = performance.now() - begin;
      ok(tookMs < LONG_MS / 3, `${tookMs} ms`);
      await jobs.return?.();
    },
  );
}
