import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What this process holds. */
export interface Census {
  /** Bytes that are reachable. */
  readonly heap: number;
  /** What keeps the event loop busy, by kind: timers, sockets, pipes, ... */
  readonly resources: Readonly<Record<string, number>>;
}

// Made when they are first asked for, which may be in the middle of a test.
void process.stdin;
void process.stdout;
void process.stderr;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Counts after everything unreachable is gone: what finalizers and closed handles let go of takes a few turns. */
export async function takeCensus(): Promise<Census> {
  for (let round = 0; round < 4; round++) {
    collect();
    await turn();
  }
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  // The one that runs this very function, and files of modules that are being loaded.
  delete resources.Immediate;
  delete resources.FSReqCallback;
  return { heap: process.memoryUsage().heapUsed, resources };
}

/** Turns of the event loop until something holds. Too many of them are a failure that says what did not come true. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > 60_000) throw new Error(`it did not come true that ${what}`);
    await turn();
  }
}
