import { spawn } from "node:child_process";
import type { Io } from "../io.js";

/** Time after which a program of the keychain counts as one that cannot be used. The user may have to unlock it. */
const MOST_MS = 60_000;

/** What a program did. `problem` is set if it could not run, or ran too long. */
export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly problem?: string;
}

/** Runs a program of the system with a text on its stdin. No argument may be a secret, since others can see arguments. */
export function runProgram(command: string, args: readonly string[], stdin: string, io: Io): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: { ...io.env }, stdio: "pipe", windowsHide: true, timeout: MOST_MS });
    const [stdout, stderr]: [Uint8Array[], Uint8Array[]] = [[], []];
    child.stdout.on("data", (part: Uint8Array) => stdout.push(part));
    child.stderr.on("data", (part: Uint8Array) => stderr.push(part));
    const text = (parts: Uint8Array[]) => Buffer.concat(parts).toString("utf8");
    child.once("error", (error: NodeJS.ErrnoException) => {
      const problem = error.code === "ENOENT" ? `there is no program ${command}` : `${command}: ${error.message}`;
      resolve({ code: null, stdout: "", stderr: "", problem });
    });
    child.once("close", (code) => {
      const late = code === null ? { problem: `${command} did not end` } : undefined;
      resolve({ code, stdout: text(stdout), stderr: text(stderr), ...late });
    });
    // A program that ends early does not read its input.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
  });
}
