import { summary } from "./summary.mjs";

/** Runs `concurrency` workers that call `once` back to back for `ms` milliseconds, or until `most` calls are made. */
export async function drive({ concurrency, ms, most = Infinity }, once) {
  const latencies = [];
  let left = most;
  const begun = performance.now();
  const end = begun + ms;
  const worker = async (index) => {
    while (left-- > 0) {
      const start = performance.now();
      if (start >= end) return;
      await once(index);
      latencies.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, index) => worker(index)));
  return summary(latencies, performance.now() - begun);
}
