import { execFileSync } from "node:child_process";
import { cpus } from "node:os";

/** Core of the process that makes load, and core of the process that is measured. */
export const cores = { load: 0, measured: 1 };

export const canPin = process.platform === "linux" && cpus().length >= 2;

/**
 * Pins the main thread of a process to one core, or unpins it. Its other threads stay free. Does nothing except on
 * Linux.
 */
export function pin(pid, core) {
  if (!canPin) return;
  const list = core === undefined ? `0-${cpus().length - 1}` : String(core);
  try {
    execFileSync("taskset", ["-cp", list, String(pid)], { stdio: "ignore" });
  } catch {}
}
