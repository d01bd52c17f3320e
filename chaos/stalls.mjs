import { readdirSync, readFileSync } from "node:fs";

/** Time between two looks, and lateness of a look from which on the machine does not let the process run as it should. */
const LOOK_MS = 200;
const LATE_MS = 150;
/** Time of looks that are all late from which on it is a stall. */
const STALL_MS = 1_000;
/** Part of the time between two looks from which on the process itself has used it. A busy program is no stall. */
const OWN = 0.9;
/** Part of the time between two looks from which on a wait for a core leaves the process next to nothing. */
const STARVED = 0.8;
/** Time between two records of the CPU time of a process. */
const RECORD_MS = 1_000;

/** Finds the stalls of a process in its looks at the clock. */
export class Stalls {
  #last;
  #begunAt;

  /**
   * Takes the time, and the times for which the main thread has run and has waited for a core so far. Returns the length of
   * a stall that is noticed, or undefined.
   */
  look({ at, ranMs, waitedMs = 0 }) {
    const last = this.#last ?? { at, ranMs, waitedMs };
    this.#last = { at, ranMs, waitedMs };
    const isLate = at - last.at - LOOK_MS >= LATE_MS;
    const isOwn = ranMs - last.ranMs >= OWN * (at - last.at);
    const isStarved = waitedMs - last.waitedMs >= STARVED * (at - last.at);
    this.#begunAt = (isLate && !isOwn) || isStarved ? (this.#begunAt ?? last.at) : undefined;
    if (this.#begunAt === undefined || at - this.#begunAt < STALL_MS) return undefined;
    const ms = at - this.#begunAt;
    this.#begunAt = undefined;
    return ms;
  }
}

/**
 * Records the times in which a busy machine does not let this process run, and every second the time that its threads
 * have run and have waited for the machine. Returns a function that ends it.
 */
export function recordStalls(truth) {
  const stalls = new Stalls();
  let recordedAt = Date.now();
  stalls.look({ at: recordedAt, ...mainThread() });
  const look = () => {
    const at = Date.now();
    const ms = stalls.look({ at, ...mainThread() });
    if (ms !== undefined) truth.write("stall", ms);
    if (at - recordedAt < RECORD_MS) return;
    recordedAt = at;
    const { ranMs, waitedMs } = allThreads();
    truth.write("ran", Math.round(ranMs), Math.round(waitedMs));
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return () => clearInterval(timer);
}

/** Returns the CPU time of the main thread. Only Linux tells it apart. */
function mainThread() {
  return readSchedule("/proc/self/schedstat") ?? { ranMs: processMs(), waitedMs: 0 };
}

/** Returns the time that the threads of this process have run, and that they could have run without a free core. */
function allThreads() {
  const threads = threadsOf().flatMap((thread) => readSchedule(`/proc/self/task/${thread}/schedstat`) ?? []);
  if (threads.length === 0) return { ranMs: processMs(), waitedMs: 0 };
  const sumOf = (name) => threads.reduce((sum, thread) => sum + thread[name], 0);
  return { ranMs: sumOf("ranMs"), waitedMs: sumOf("waitedMs") };
}

function threadsOf() {
  try {
    return readdirSync("/proc/self/task");
  } catch {
    return [];
  }
}

/** Returns undefined if the system does not tell it, or if the thread has ended. */
function readSchedule(path) {
  try {
    const [ran, waited] = readFileSync(path, "utf8").split(" ");
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return undefined;
  }
}

function processMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
