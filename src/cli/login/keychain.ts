import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Io } from "../io.js";
import { type ProgramResult, runProgram } from "./run-program.js";

/** What a keychain answers: a secret, that it has none, or why it cannot be used. */
export type Found =
  | { readonly state: "found"; readonly secret: string }
  | { readonly state: "none" }
  | { readonly state: "away"; readonly why: string };

/** Keychain of the system, by its own programs. Secrets pass through their stdin and stdout. */
export interface Keychain {
  read(): Promise<Found>;
  /** Stores a secret. `read` tells if that worked. */
  write(secret: string): Promise<void>;
  remove(): Promise<void>;
}

/** Returns the keychain of the platform. `folder` is for files that the system encrypts. */
export function keychainOf(folder: string, io: Io): Keychain {
  if (io.platform === "win32") return dpapi(join(folder, "key.dpapi"), io);
  return io.platform === "darwin" ? macKeychain(io) : secretService(io);
}

const SERVICE = "bowline";
const ACCOUNT = "logins";

/** The Secret Service of Linux desktops, by `secret-tool` of libsecret. */
function secretService(io: Io): Keychain {
  const names = ["service", SERVICE, "account", ACCOUNT];
  return {
    async read() {
      const result = await runProgram("secret-tool", ["lookup", ...names], "", io);
      return foundIn(result, result.code === 1 && result.stderr.trim() === "");
    },
    async write(secret) {
      await runProgram("secret-tool", ["store", "--label=Key of the logins of bowline", ...names], secret, io);
    },
    async remove() {
      await runProgram("secret-tool", ["clear", ...names], "", io);
    },
  };
}

/** Exit code of `security` for an item that is not there. */
const NOT_FOUND = 44;

/** The keychain of macOS. `security -i` reads a command, and so the secret, from stdin. */
function macKeychain(io: Io): Keychain {
  const names = ["-s", SERVICE, "-a", ACCOUNT];
  return {
    async read() {
      const result = await runProgram("security", ["find-generic-password", ...names, "-w"], "", io);
      return foundIn(result, result.code === NOT_FOUND);
    },
    async write(secret) {
      await runProgram("security", ["-i"], `add-generic-password -U ${names.join(" ")} -w ${secret}\n`, io);
    },
    async remove() {
      await runProgram("security", ["delete-generic-password", ...names], "", io);
    },
  };
}

const POWERSHELL = ["-NoProfile", "-NonInteractive", "-Command"];
const script = (work: string) =>
  `$ErrorActionPreference = 'Stop'; Add-Type -AssemblyName System.Security; $text = [Console]::In.ReadToEnd().Trim(); ${work}`;
const PROTECT = script(
  "[Convert]::ToBase64String([Security.Cryptography.ProtectedData]::Protect([Text.Encoding]::UTF8.GetBytes($text), $null, 'CurrentUser'))",
);
const UNPROTECT = script(
  "[Text.Encoding]::UTF8.GetString([Security.Cryptography.ProtectedData]::Unprotect([Convert]::FromBase64String($text), $null, 'CurrentUser'))",
);

/** A file that DPAPI of Windows encrypts for the user, by PowerShell. */
function dpapi(file: string, io: Io): Keychain {
  return {
    async read() {
      const sealed = await readFile(file, "utf8").catch(() => undefined);
      if (sealed === undefined) return { state: "none" };
      return foundIn(await runProgram("powershell", [...POWERSHELL, UNPROTECT], sealed, io), false);
    },
    async write(secret) {
      const { code, stdout } = await runProgram("powershell", [...POWERSHELL, PROTECT], secret, io);
      if (code === 0) await writeFile(file, stdout.trim(), { mode: 0o600 });
    },
    remove: () => rm(file, { force: true }),
  };
}

function foundIn({ code, stdout, stderr, problem }: ProgramResult, isNone: boolean): Found {
  const secret = stdout.trim();
  if (code === 0 && secret !== "") return { state: "found", secret };
  if (isNone) return { state: "none" };
  const [said = ""] = stderr.trim().split("\n");
  return { state: "away", why: problem ?? (said === "" ? `the keychain answered with ${code}` : said) };
}
