import { setTimeout as sleep } from "node:timers/promises";

/** Time in which nodes remove what has ended, and time between two looks. */
const LEFT_MS = 3_000;
const LOOK_MS = 250;

/** Returns what is left in an engine and the time of the list (`at`), when nothing of it should not be, or after a time. Undefined if it cannot be listed. */
export async function readLeft(engine, problemsOf) {
  if (engine.left === undefined) return {};
  for (const end = Date.now() + LEFT_MS; ; await sleep(LOOK_MS)) {
    const left = await engine.left();
    const list = { at: Date.now(), left };
    if (Date.now() >= end || [...problemsOf(list)].length === 0) return list;
  }
}
