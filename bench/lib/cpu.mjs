import { readdirSync, readFileSync } from "node:fs";

/** The CPU time in milliseconds that all threads of a living process have spent; undefined where the system does not tell. */
export function cpuMsOf(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const spent = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    return spent.reduce((sum, nanoseconds) => sum + Number(nanoseconds), 0) / 1e6;
  } catch {
    return undefined;
  }
}
