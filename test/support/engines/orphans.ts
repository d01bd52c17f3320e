import { spawn } from "node:child_process";
import type { Writable } from "node:stream";

/**
 * Kills processes, unmounts disks and removes folders when its input ends, which is when the process that has started it ends, in whatever
 * way. A process that is killed may still write to its folder for a moment.
 */
const WATCHDOG = `
pids=" "
disks=
while read -r order value; do
  case $order in
    kill) pids="$pids$value " ;;
    spare) pids="\${pids%% $value *} \${pids#* $value }" ;;
    unmount) disks="$disks $value" ;;
    remove) set -- "$@" "$value" ;;
  esac
done
for pid in $pids; do kill -KILL "$pid"; done
for disk in $disks; do umount -l "$disk"; done
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$@" && break; sleep 0.2; done
`;

let orders: Writable | undefined;

/** Kills a process after this one has ended, even by SIGKILL. Returns a function for the case that it ends earlier. */
export function killAfterUs(pid: number | undefined): () => void {
  if (pid === undefined) return () => {};
  order("kill", pid);
  return () => order("spare", pid);
}

/** Removes a folder after this process has ended, even by SIGKILL, unless it is gone by then. */
export function removeAfterUs(folder: string): void {
  order("remove", folder);
}

/** Unmounts a disk after this process has ended, even by SIGKILL, unless that was done by then. */
export function unmountAfterUs(folder: string): void {
  order("unmount", folder);
}

function order(name: string, value: string | number): void {
  orders ??= startWatchdog();
  orders.write(`${name} ${value}\n`);
}

/** Starts a process that gets no signal of the terminal, and that this one does not wait for. */
function startWatchdog(): Writable {
  const child = spawn("/bin/sh", ["-c", WATCHDOG, "sh"], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  for (const part of [child, child.stdin] as unknown as { unref(): void }[]) part.unref();
  return child.stdin;
}
