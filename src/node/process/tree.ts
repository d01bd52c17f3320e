import { spawn, spawnSync } from "node:child_process";
import { endGroupWithHost } from "./watchdog.js";

/** How to end a process and its descendants on a platform. */
export type EndTree =
  | { readonly by: "signal"; readonly group: number; readonly signal: "SIGTERM" | "SIGKILL" }
  | { readonly by: "command"; readonly command: string; readonly args: readonly string[] };

const live = new Set<number>();

/** Ends the tree. False when there is nothing left of it. */
export function endTree(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  const plan = planEndTree(pid, signal, process.platform);
  if (plan.by === "signal") return signalGroup(plan.group, plan.signal);
  spawn(plan.command, plan.args, { stdio: "ignore", windowsHide: true }).on("error", () => {});
  return true;
}

/**
 * Ends the tree if this process goes first; returns how to take that back. A server that leads its own group does not get
 * the terminal's Ctrl-C: it goes when this process closes its channel or exits, and when it is killed by the end of its
 * input or, at last, by the watchdog.
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
 * Elsewhere than on Windows the process leads a group of its own and the group is signalled. Windows has no signals, and a
 * polite `taskkill` does not reach a process without a window: both stages are forced there.
 */
export function planEndTree(pid: number, signal: "SIGTERM" | "SIGKILL", platform: NodeJS.Platform): EndTree {
  if (platform === "win32") return { by: "command", command: "taskkill", args: ["/pid", String(pid), "/T", "/F"] };
  return { by: "signal", group: pid, signal };
}

function signalGroup(group: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    // EPERM: the group exists, but a member may not be signalled. The others have been.
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
