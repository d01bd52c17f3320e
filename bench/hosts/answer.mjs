import { readdirSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { seen } from "../workload/app.mjs";

/** Returns memory, handles and open files of this process. Open files are known on Linux only. */
function holdings() {
  const { rss, heapUsed } = process.memoryUsage();
  return {
    rss,
    heap: heapUsed,
    handles: process.getActiveResourcesInfo().length,
    files: process.platform === "linux" ? readdirSync("/proc/self/fd").length : undefined,
  };
}

const profiler = new Session();
const turn = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the CPU time of this process in milliseconds. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const commands = {
  cpuMs,

  async startProfile() {
    profiler.connect();
    await profiler.post("Profiler.enable");
    await profiler.post("Profiler.setSamplingInterval", { interval: 200 });
    await profiler.post("Profiler.start");
  },

  async stopProfile() {
    const { profile } = await profiler.post("Profiler.stop");
    profiler.disconnect();
    return profile;
  },

  /** Returns the file that an import in this process loads. */
  resolve: (specifier) => import.meta.resolve(specifier),

  counts: () => ({ started: seen.started, cancelled: seen.cancelled }),

  /** Returns memory and handles after garbage collection. */
  async settled() {
    for (let round = 0; round < 4; round++) {
      globalThis.gc();
      await turn(30);
    }
    return holdings();
  },

  /** Returns the times at which the slow tool was cancelled since the last request, by tag. */
  cancelTimes() {
    const times = Object.fromEntries(seen.at);
    seen.at.clear();
    return times;
  },
};

/** Serves the requests of the runner, and reports when `start` is done. The process ends with the runner. */
export async function answer(start, further = {}) {
  const known = { ...commands, ...further };
  process.on("message", async ({ number, command, args }) => {
    try {
      process.send({ number, value: await known[command](...args) });
    } catch (error) {
      process.send({ number, error: String(error?.stack ?? error) });
    }
  });
  process.on("disconnect", () => process.exit(0));
  try {
    process.send({ ready: (await start()) ?? {} });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
}
