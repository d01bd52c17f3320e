import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pause } from "../../call/abortable.js";
import { systemClock } from "../../call/clock.js";
import { withFileLock } from "../../node/files/store.js";
import { AuthError } from "../../protocol/auth-error.js";
import { stateFolder } from "../folders.js";
import type { Io } from "../io.js";
import type { Screen } from "../screen.js";
import { visibleLine } from "../text.js";
import { keychainOf } from "./keychain.js";
import { serverFiles } from "./place.js";

/** Times after which a keychain is read again that should have the key: a service that is busy or starts says that it has none. */
const READ_AGAIN_MS = [100, 400, 1_500];

/**
 * Returns the secret by which the files of logins are encrypted: `BOWLINE_SECRET`, or a random key of 32 bytes in the
 * keychain of the system. Without a keychain, the key is in a file that only the user can read; a line says so once.
 */
export async function loginSecret(io: Io, screen: Screen): Promise<string> {
  if (io.env.BOWLINE_SECRET) return io.env.BOWLINE_SECRET;
  const folder = stateFolder(io);
  const known = await knownSecret(folder, io);
  if (known.secret !== undefined) return known.secret;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Two processes must not make two keys.
  return withFileLock(join(folder, "key.lock"), async () => {
    const again = await knownSecret(folder, io);
    if (again.secret !== undefined) return again.secret;
    if ((await serverFiles(io)).length > 0) return existingSecret(folder, io);
    return createSecret(folder, io, screen, again.why);
  });
}

/** Removes the key. */
export async function removeSecret(io: Io): Promise<void> {
  const folder = stateFolder(io);
  await keychainOf(folder, io).remove();
  await rm(keyFile(folder), { force: true });
}

function keyFile(folder: string): string {
  return join(folder, "key");
}

/** Returns the secret, or why the keychain cannot be used if that is the reason that there is none. */
async function knownSecret(folder: string, io: Io): Promise<{ readonly secret?: string; readonly why?: string }> {
  const inFile = await readFile(keyFile(folder), "utf8").catch(() => "");
  if (inFile !== "") return { secret: inFile.trim() };
  const found = await keychainOf(folder, io).read();
  if (found.state === "found") return { secret: found.secret };
  return found.state === "away" ? { why: found.why } : {};
}

/** Returns the secret of the logins that are stored. Throws if it cannot be read: a new one could not open them. */
async function existingSecret(folder: string, io: Io): Promise<string> {
  let why: string | undefined;
  for (const ms of READ_AGAIN_MS) {
    await pause(systemClock, ms, io.signal);
    const known = await knownSecret(folder, io);
    if (known.secret !== undefined) return known.secret;
    why = known.why;
  }
  throw new AuthError(
    "store",
    `the key of the stored logins cannot be read: ${visibleLine(why ?? "the keychain has no key")}. Unlock the keychain, set BOWLINE_SECRET, or forget the logins: bowline logout --all`,
  );
}

async function createSecret(folder: string, io: Io, screen: Screen, away: string | undefined): Promise<string> {
  const secret = randomBytes(32).toString("base64url");
  if (away === undefined) {
    const keychain = keychainOf(folder, io);
    await keychain.write(secret);
    const stored = await keychain.read();
    if (stored.state === "found" && stored.secret === secret) return secret;
  }
  const file = keyFile(folder);
  await writeFile(file, secret, { mode: 0o600, flag: "wx" });
  const why = away ?? "the keychain did not keep it";
  screen.note(
    screen.tint(
      "yellow",
      `The key of the stored logins is in ${visibleLine(file)}, mode 0600: ${visibleLine(why)}. BOWLINE_SECRET takes its place.`,
    ),
  );
  return secret;
}
