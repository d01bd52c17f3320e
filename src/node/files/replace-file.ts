import { rename, unlink, writeFile } from "node:fs/promises";

/**
 * Writes another file, which only this user can read, and renames it. A reader sees either the old or the new content, also
 * after a crash.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const aside = `${path}.${process.pid}-${Math.random().toString(36).slice(2)}`;
  try {
    await writeFile(aside, content, { mode: 0o600, flag: "wx" });
    await rename(aside, path);
  } catch (error) {
    await unlink(aside).catch(() => {});
    throw error;
  }
}
