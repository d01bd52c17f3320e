import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileNameFor, stateFolder } from "../folders.js";
import type { Io } from "../io.js";

/** Returns the folder of the encrypted files. */
export function loginsFolder(io: Io): string {
  return join(stateFolder(io), "logins");
}

/** Returns the name of a server's file. A digest, since a URL may have a secret. */
export function serverFile(server: string): string {
  return join("servers", fileNameFor(server));
}

/** Returns the names of the files of servers. */
export async function serverFiles(io: Io): Promise<readonly string[]> {
  const names = await readdir(join(loginsFolder(io), "servers")).catch(() => []);
  // Locks and drafts have longer names.
  return names.filter((name) => /^[0-9a-f]{16}$/.test(name)).map((name) => join("servers", name));
}

/** True if there is something about a server. Reads no file, and needs no key. */
export function hasLogin(server: string, io: Io): Promise<boolean> {
  return stat(join(loginsFolder(io), serverFile(server))).then(
    () => true,
    () => false,
  );
}
