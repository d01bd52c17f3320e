import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeAfterUs, unmountAfterUs } from "./orphans.js";

const MEGABYTES = 32;
const BLOCK = Buffer.alloc(65_536);

/** Disk in memory that a test can fill. */
export interface SmallDisk {
  readonly folder: string;
  /** Writes until there is no room. */
  fill(): void;
  free(): void;
  unmount(): void;
}

/** Mounts a disk whose folder belongs to a user. Returns undefined where this process may not mount. */
export function mountSmallDisk({ uid, gid }: { readonly uid: number; readonly gid: number }): SmallDisk | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "bowline-disk-"));
  removeAfterUs(folder);
  const options = `size=${MEGABYTES}m,mode=700,uid=${uid},gid=${gid}`;
  if (spawnSync("mount", ["-t", "tmpfs", "-o", options, "none", folder]).status !== 0) {
    rmdirSync(folder);
    return undefined;
  }
  unmountAfterUs(folder);
  const filler = join(folder, "filler");
  return {
    folder,
    fill() {
      const file = openSync(filler, "w");
      try {
        while (writeSync(file, BLOCK) > 0);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount() {
      spawnSync("umount", ["-l", folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
