import { pause, settlesWithin } from "../../call/abortable.js";
import { systemClock } from "../../call/clock.js";
import type { CommandTarget } from "../../client/options.js";
import type { Service } from "../../doctor/session.js";
import { lastWordsOf, StderrTail } from "../../node/process/diagnosis.js";
import { startServerProcess } from "../../node/process/server-process.js";
import { ConnectionError } from "../../protocol/errors.js";

/** Time for a server to listen, and between two looks at it. */
const LISTEN_MS = 30_000;
const LOOK_MS = 100;
/** Time for a server to end its calls after SIGTERM. Platforms give as much. */
const DRAIN_MS = 10_000;

/** Starts a command that serves HTTP, and waits until it answers at its URL. */
export async function startService(
  { restart: _, ...command }: CommandTarget,
  url: URL,
  signal: AbortSignal,
): Promise<Service & { close(): Promise<void> }> {
  const server = await startServerProcess(command, "pipe");
  const tail = new StderrTail({ maxLines: 20, maxChars: 8_000 });
  server.stdout.resume();
  server.stderr?.on("data", (chunk: Buffer) => tail.push(chunk));
  const close = () => server.stop({ stdinMs: 0, termMs: 1_000 });
  const until = performance.now() + LISTEN_MS;
  while (!(await answers(url))) {
    const words = lastWordsOf(tail.lines);
    const said = words === undefined ? "" : `; it wrote to stderr: ${words}`;
    const hasEnded = server.exit !== undefined;
    if (!hasEnded && performance.now() < until && !signal.aborted) {
      await pause(systemClock, LOOK_MS, signal);
      continue;
    }
    await close();
    signal.throwIfAborted();
    const how = hasEnded ? "ended before it listened" : "does not listen";
    throw new ConnectionError(`the command ${how} at ${url.origin}${said}`, { delivery: "not_sent" });
  }
  const terminate = async () => {
    if (server.exit === undefined) process.kill(server.pid, "SIGTERM");
    const isForced = !(await settlesWithin(server.exited, DRAIN_MS));
    await close();
    return { code: server.exit?.code ?? null, signal: server.exit?.signal ?? null, isForced };
  };
  return { terminate, close };
}

async function answers(url: URL): Promise<boolean> {
  try {
    await (await fetch(url, { method: "OPTIONS" })).body?.cancel();
    return true;
  } catch {
    return false;
  }
}
