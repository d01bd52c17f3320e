import { readdirSync, readFileSync } from "node:fs";

/**
 * Measures how much CPU time other programs use, so that a disturbed window can be repeated. Works on Linux; any other
 * system counts as quiet.
 */
const tickMs = 10;
const limit = 0.25;

/** Returns the busy time of the machine and of this process with its children, in ticks. */
export function snapshot() {
  try {
    const [, user, nice, system, , , irq, softirq, steal] = readFileSync("/proc/stat", "utf8").split(/\s+/).map(Number);
    const busy = user + nice + system + irq + softirq + steal;
    return { at: performance.now(), busy, own: ownTicks() };
  } catch {
    return undefined;
  }
}

function ownTicks() {
  const parents = new Map();
  const ticks = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
      parents.set(Number(pid), Number(fields[1]));
      ticks.set(Number(pid), Number(fields[11]) + Number(fields[12]));
    } catch {}
  }
  let own = 0;
  for (const [pid, spent] of ticks) if (isOwn(pid, parents)) own += spent;
  return own;
}

function isOwn(pid, parents) {
  for (let at = pid, steps = 0; at > 1 && steps < 12; at = parents.get(at) ?? 0, steps++) {
    if (at === process.pid) return true;
  }
  return false;
}

/** Returns the share of one core that other programs used between two snapshots. */
export function othersBetween(before, after) {
  if (before === undefined || after === undefined) return 0;
  const ticks = after.busy - before.busy - (after.own - before.own);
  return Math.max(0, (ticks * tickMs) / (after.at - before.at));
}

export const isNoisy = (share) => share > limit;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until other programs are idle, at most for the time that `patience` has left. */
export async function quiet(patience) {
  while (patience.ms > 0) {
    const begun = performance.now();
    const before = snapshot();
    await sleep(250);
    if (!isNoisy(othersBetween(before, snapshot()))) return;
    await sleep(750);
    patience.ms -= performance.now() - begun;
  }
}
