import { createHook } from "node:async_hooks";
import { Session } from "node:inspector/promises";

/** What one run of something costs, in units that do not depend on the machine. */
export interface Work {
  /** Promises made: each is a stage that a call passes. */
  readonly promises: number;
  /** Timers and other things that the event loop was given. */
  readonly handles: number;
  /** Bytes of heap. */
  readonly bytes: number;
}

/** Enough for the newest engines too, which compile for good later than older ones do. */
const WARM_UP = 20_000;
const RUNS = 2_000;

/**
 * Samples of the bytes, of which the least counts. The engine compiles on threads of its own, which get little time on a busy
 * machine: code that is still interpreted in the first sample is compiled in a later one.
 */
const SAMPLES = 4;

/** Measures work that has become routine. Bytes are sampled, all else is counted. */
export async function measureWork(run: () => Promise<unknown>): Promise<Work> {
  for (let i = 0; i < WARM_UP; i++) await run();
  let bytes = Number.POSITIVE_INFINITY;
  for (let i = 0; i < SAMPLES; i++) bytes = Math.min(bytes, await sampleBytes(run));
  return { ...(await countResources(run)), bytes };
}

async function countResources(run: () => Promise<unknown>): Promise<Omit<Work, "bytes">> {
  let promises = 0;
  let handles = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") promises++;
      else handles++;
    },
  });
  // Awaiting what `run` gave is this loop's own stage.
  hook.enable();
  for (let i = 0; i < RUNS; i++) await run();
  hook.disable();
  return { promises: Math.round(promises / RUNS), handles: Math.round(handles / RUNS) };
}

interface SamplingNode {
  readonly selfSize: number;
  readonly children: readonly SamplingNode[];
}

async function sampleBytes(run: () => Promise<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: 2048,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    } as never);
    for (let i = 0; i < RUNS; i++) await run();
    const { profile } = await session.post("HeapProfiler.stopSampling");
    return Math.round(sizeOf(profile.head) / RUNS);
  } finally {
    session.disconnect();
  }
}

function sizeOf(node: SamplingNode): number {
  return node.children.reduce((sum, child) => sum + sizeOf(child), node.selfSize);
}
