import { constants } from "node:os";

const END_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** How long the process may take to end by itself after it was told to. */
const LINGER_MS = 2000;

/**
 * Calls back at the first SIGINT or SIGTERM. The function returned stops listening; if a signal has come by then, the
 * process is set to end with the status that the signal stands for, and is ended by it if something keeps it alive. Where
 * others listen to the same signal, what it does to the process is up to them.
 */
export function onEndSignal(callback: () => void): () => void {
  let received: NodeJS.Signals | undefined;
  const listen = (signal: NodeJS.Signals) => {
    if (received !== undefined) return;
    received = signal;
    callback();
  };
  for (const signal of END_SIGNALS) process.on(signal, listen);
  return () => {
    for (const signal of END_SIGNALS) process.off(signal, listen);
    if (received !== undefined && process.listenerCount(received) === 0) endBy(received);
  };
}

function endBy(signal: NodeJS.Signals): void {
  process.exitCode ??= 128 + constants.signals[signal];
  setTimeout(() => process.kill(process.pid, signal), LINGER_MS).unref();
}
