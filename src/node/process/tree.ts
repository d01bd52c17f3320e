import { spawn, spawnSync } from "node:child_process";
import { endGroupWithHost } from "./watchdog.js";

/** Way to end a process and its descendants on a platform. */
export type EndTree =
  | { readonly by: "signal"; readonly group: number; readonly signal: "SIGTERM" | "SIGKILL" }
  | { readonly by: "command"; readonly command: string; readonly args: readonly string[] };

const live = new Set<number>();

/** Ends the tree. Returns false if no process of it is left. On Windows this is not known, and it returns true. */
export function endTree(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  const plan = planEndTree(pid, signal, process.platform);
  if (plan.by === "signal") return signalGroup(plan.group, plan.signal);
  spawn(plan.command, plan.args, { stdio: "ignore", windowsHide: true }).on("error", () => {});
  return true;
}

/**
 * Ends the tree if this process exits first. Returns a function that cancels this. A server that leads its own group
 * does not receive Ctrl-C from the terminal. It ends when this process closes its channel or exits. If this process is
 * killed, the server ends with the end of its input, or finally by the watchdog.
 */
export function endTreeWithHost(pid: number): () => void {
  if (live.size === 0) process.on("exit", endLiveTrees);
  live.add(pid);
  const unwatch = endGroupWithHost(pid);
  return () => {
    unwatch();
    if (live.delete(pid) && live.size === 0) process.off("exit", endLiveTrees);
  };
}

/**
 * Plans how to end a tree. On POSIX systems the process leads a group, which is signalled. Windows has no signals, and
 * a `taskkill` without force does not reach a process without a window, so both stages are forced there.
 */
export function planEndTree(pid: number, signal: "SIGTERM" | "SIGKILL", platform: NodeJS.Platform): EndTree {
  if (platform === "win32") return { by: "command", command: "taskkill", args: ["/pid", String(pid), "/T", "/F"] };
  return { by: "signal", group: pid, signal };
}

function signalGroup(group: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    // EPERM means that the group exists, but a member may not be signalled. The other members have been.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function endLiveTrees(): void {
  for (const pid of live) {
    const plan = planEndTree(pid, "SIGTERM", process.platform);
    if (plan.by === "signal") signalGroup(plan.group, plan.signal);
    else spawnSync(plan.command, plan.args, { stdio: "ignore", windowsHide: true });
  }
}
