import { type ChildProcess, spawn } from "node:child_process";

/**
 * Reads "+ pid" and "- pid" and, when nothing more can come because the host is gone, ends the process groups that are
 * left: they have had the end of their input, get SIGTERM, and then SIGKILL.
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
let dog: ChildProcess | undefined;

/**
 * Has a process group ended when this process dies, however it dies: a killed process runs no code of its own. Returns how
 * to take that back. One small shell watches over all groups, and is there only as long as there are any. Does nothing
 * where there is no such shell.
 */
export function endGroupWithHost(group: number): () => void {
  if (process.platform === "win32") return () => {};
  dog ??= startDog();
  watched.add(group);
  dog.stdin?.write(`+ ${group}\n`);
  return () => {
    if (!watched.delete(group)) return;
    dog?.stdin?.write(`- ${group}\n`);
    if (watched.size > 0) return;
    dog?.stdin?.end();
    dog = undefined;
  };
}

/** In a group of its own, out of reach of the terminal's signals, and nothing that this process waits for. */
function startDog(): ChildProcess {
  const started = spawn("/bin/sh", ["-c", SCRIPT], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
  });
  const gone = () => {
    if (dog === started) dog = undefined;
  };
  started.on("error", gone).on("exit", gone).unref();
  started.stdin.on("error", () => {});
  (started.stdin as unknown as { unref?(): void }).unref?.();
  return started;
}
