/** Returns calls, calls per second and latency percentiles (in milliseconds) of one window. */
export function summary(latencies, ms) {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { calls: sorted.length, ms, perSecond: (sorted.length / ms) * 1000, p50: at(0.5), p99: at(0.99) };
}
