/**
 * Begins to measure the CPU time of this process, and returns a function that tells it in milliseconds. Other programs do not
 * lengthen it, so that a bound on it holds on a busy machine.
 */
export function cpuTime(): () => number {
  const begun = process.cpuUsage();
  return () => process.cpuUsage(begun).user / 1000;
}
