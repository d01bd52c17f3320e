import { readFile, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** A holder that has not shown itself for this long is dead. */
const STALE_MS = 15_000;
const BEAT_MS = 3_000;
const RETRY_MS = 20;

/** Runs `work` while no other process, and nobody else in this one, holds the lock file. */
export async function withFileLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const owner = await acquire(path, signal);
  // The heartbeat tells a slow holder from a dead one.
  const beat = setInterval(() => void touch(path), BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await release(path, owner);
  }
}

/** Resolves with what the lock file says while it is ours. */
async function acquire(path: string, signal: AbortSignal | undefined): Promise<string> {
  const owner = crypto.randomUUID();
  for (;;) {
    signal?.throwIfAborted();
    if (await create(path, owner)) return owner;
    if (await isStale(path)) await reap(path);
    await pause(RETRY_MS, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  }
}

/** A holder that was asleep for so long that it counted as dead leaves its successor's lock alone. */
async function release(path: string, owner: string): Promise<void> {
  const held = await readFile(path, "utf8").catch(() => "");
  if (held === owner) await unlink(path).catch(() => {});
}

async function create(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

/** Of several who find the same dead holder, one at a time looks again and removes its lock: none removes a successor's. */
async function reap(path: string): Promise<void> {
  const reaper = `${path}.reap`;
  if (!(await create(reaper, ""))) {
    if (await isStale(reaper)) await unlink(reaper).catch(() => {});
    return;
  }
  if (await isStale(path)) await unlink(path).catch(() => {});
  await unlink(reaper).catch(() => {});
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}
