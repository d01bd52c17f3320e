import { type BigIntStats, constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";

/** Does not follow a link, and does not wait for the writer of a pipe. */
export const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Number of times that a file is opened if it is replaced meanwhile. */
export const TRIES = 3;

/**
 * True if the open file with these properties is at this real path, without a link above it. A directory above may have
 * been a link when the file was opened.
 */
export async function isAt(path: string, { dev, ino }: BigIntStats): Promise<boolean> {
  const [real, found] = await Promise.all([
    realpath(path).catch(() => undefined),
    lstat(path, { bigint: true }).catch(() => undefined),
  ]);
  // Windows names the device of an open file otherwise.
  return real === path && found?.ino === ino && (found.dev === dev || process.platform === "win32");
}

/**
 * Reads the file at a real path. Opens it again if it is replaced meanwhile, as programs do when they save. Returns
 * undefined if there is no regular file at this path.
 */
export async function readRealFile(path: string): Promise<Buffer | undefined> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const file = await open(path, READ_FLAGS).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      const stats = await file.stat({ bigint: true });
      if (await isAt(path, stats)) return stats.isFile() ? await file.readFile() : undefined;
    } finally {
      await file.close();
    }
  }
  return undefined;
}
