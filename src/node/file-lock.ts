import { open, rename, stat, unlink, utimes } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** A holder that has not shown itself for this long is dead. */
const STALE_MS = 15_000;
const BEAT_MS = 3_000;
const RETRY_MS = 20;

/** Runs `work` while no other process, and nobody else in this one, holds the lock file. */
export async function withFileLock<T>(path: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  await acquire(path, signal);
  // The heartbeat tells a slow holder from a dead one.
  const beat = setInterval(() => void touch(path), BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await unlink(path).catch(() => {});
  }
}

async function acquire(path: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const file = await open(path, "wx", 0o600);
      await file.close();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (await isStale(path)) await remove(path);
    else await pause(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

/** Renaming first: of several who find the same dead holder, one removes it, and none removes its successor's lock. */
async function remove(path: string): Promise<void> {
  const aside = `${path}.${process.pid}.${Date.now()}`;
  try {
    await rename(path, aside);
    await unlink(aside);
  } catch {
    // Somebody else was faster.
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}
