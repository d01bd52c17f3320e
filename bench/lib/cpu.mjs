import { readdirSync, readFileSync } from "node:fs";

/**
 * Returns the CPU time in milliseconds of all threads of a running process, or undefined if the system does not report
 * it.
 */
export function cpuMsOf(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const spent = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    return spent.reduce((sum, nanoseconds) => sum + Number(nanoseconds), 0) / 1e6;
  } catch {
    return undefined;
  }
}
