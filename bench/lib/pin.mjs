import { execFileSync } from "node:child_process";
import { cpus } from "node:os";

/** The core of whoever makes load, and of what is under load. */
export const cores = { load: 0, measured: 1 };

export const canPin = process.platform === "linux" && cpus().length >= 2;

/** Keeps a process's main thread on one core, or frees it; its helper threads stay free. Linux alone, else nothing. */
export function pin(pid, core) {
  if (!canPin) return;
  const list = core === undefined ? `0-${cpus().length - 1}` : String(core);
  try {
    execFileSync("taskset", ["-cp", list, String(pid)], { stdio: "ignore" });
  } catch {}
}
