import { type ChildProcess, spawn } from "node:child_process";

/**
 * Reads "+ pid" and "- pid". When its input ends because the host is gone, it ends the remaining process groups. Their
 * input has ended already. They receive SIGTERM, and then SIGKILL.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=' '
while read -r sign pid; do
  case $sign in
    +) groups="$groups$pid " ;;
    -) groups="\${groups%% $pid *} \${groups#* $pid }" ;;
  esac
done
for signal in TERM KILL; do
  [ "$groups" = ' ' ] && exit
  sleep 2
  for pid in $groups; do kill -s $signal -- -$pid; done 2>/dev/null
done
`;

const watched = new Set<number>();
let shell: ChildProcess | undefined;

/**
 * Ends a process group when this process dies for any reason, since a killed process runs no code. Returns a function
 * that cancels this. A small shell watches all groups, and runs only while there are any. Does nothing on Windows, or
 * if the system has no `/bin/sh`.
 */
export function endGroupWithHost(group: number): () => void {
  if (process.platform === "win32") return () => {};
  shell ??= startShell();
  watched.add(group);
  shell.stdin?.write(`+ ${group}\n`);
  return () => {
    if (!watched.delete(group)) return;
    shell?.stdin?.write(`- ${group}\n`);
    if (watched.size > 0) return;
    shell?.stdin?.end();
    shell = undefined;
  };
}

/**
 * Starts the shell in a group of its own, so that signals of the terminal do not reach it. It does not keep this
 * process alive.
 */
function startShell(): ChildProcess {
  const started = spawn("/bin/sh", ["-c", SCRIPT], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
  });
  const gone = () => {
    if (shell === started) shell = undefined;
  };
  started.on("error", gone).on("exit", gone).unref();
  started.stdin.on("error", () => {});
  (started.stdin as unknown as { unref?(): void }).unref?.();
  return started;
}
