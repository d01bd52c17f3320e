const CHECK_MS = 1000;

/**
 * Calls back once when the process that started this one is gone; returns how to stop looking. A dead parent mostly shows
 * as the end of the input, but not where another process holds the other end of the pipe.
 */
export function onOrphaned(callback: () => void, checkMs = CHECK_MS): () => void {
  const parent = process.ppid;
  // Whoever has no parent but the system's first process cannot lose it.
  if (parent <= 1) return () => {};
  const timer = setInterval(() => {
    if (isParent(parent)) return;
    clearInterval(timer);
    callback();
  }, checkMs).unref();
  return () => clearInterval(timer);
}

function isParent(pid: number): boolean {
  if (process.ppid !== pid) return false;
  // Windows goes on naming a parent that has gone.
  return process.platform !== "win32" || isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
