import { execFile } from "node:child_process";
import { PassThrough } from "node:stream";
import { settlesWithin } from "../../call/abortable.js";
import type { CommandTarget } from "../../client/options.js";
import type { ProcessEnd } from "../../doctor/facts.js";
import type { StartedServer } from "../../doctor/session.js";
import { lastWordsOf, likelyCauseOf, StderrTail } from "../../node/process/diagnosis.js";
import type { ServerProcess } from "../../node/process/server-process.js";
import { startServerProcess } from "../../node/process/server-process.js";
import { FrameWriter } from "../../node/stdio/frame-writer.js";
import { ConnectionError } from "../../protocol/errors.js";
import type { Channel, ChannelEvents } from "../../protocol/jsonrpc/channel.js";
import { LineDecoder } from "../../protocol/jsonrpc/lines.js";
import { RECORDING_LIMITS } from "../../recording/limits.js";

/** Time that a process has to end after its input. Hosts give about 2 s. A busy machine alone delays an end by more. */
const END_MS = 5_000;
/** Time for the output of a process that has ended, and for its descendants. */
const LEFTOVER_MS = 250;
const TERM_MS = 500;
/** Time for a process to end its calls after SIGTERM. Platforms give as much. */
const DRAIN_MS = 10_000;

/** Starts a server process whose end is observed: the channel of `bowline/node` ends it, and tells no more. */
export function startProcess(command: CommandTarget): StartedServer {
  const channel = new ObservedChannel(command);
  return {
    channel,
    stderrBytes: () => channel.stderrBytes,
    end: () => channel.end(),
    terminate: () => channel.terminate(),
  };
}

class ObservedChannel implements Channel {
  /** A recorder reads it, as it does that of other channels of processes. */
  readonly stderr = new PassThrough();
  stderrBytes = 0;
  readonly #command: CommandTarget;
  readonly #tail = new StderrTail({ maxLines: 20, maxChars: 8_000 });
  #server: ServerProcess | undefined;
  #writer: FrameWriter | undefined;
  #events: ChannelEvents | undefined;
  #spoke = false;
  #ending: Promise<Omit<ProcessEnd, "asking"> | undefined> | undefined;

  constructor(command: CommandTarget) {
    this.#command = command;
  }

  get stderrTail(): readonly string[] {
    return this.#tail.lines;
  }

  async open(events: ChannelEvents): Promise<void> {
    const { restart: _, ...options } = this.#command;
    const server = await startServerProcess(options, "pipe");
    this.#server = server;
    this.#events = events;
    this.#writer = new FrameWriter(server.stdin, () => {});
    const onLine = (line: string) => {
      this.#spoke ||= line.startsWith("{");
      this.#events?.onFrame(line);
    };
    const onProblem = (problem: Error) => this.#events?.onProblem(problem);
    const decoder = new LineDecoder({ onLine, onProblem, onOverflow: onProblem }, RECORDING_LIMITS);
    server.stdout.on("data", (chunk: Buffer) => decoder.push(chunk)).on("error", () => {});
    server.stderr
      ?.on("error", () => {})
      .on("data", (chunk: Buffer) => {
        this.stderrBytes += chunk.length;
        this.#tail.push(chunk);
        this.stderr.write(chunk);
      });
    server.exited.then(() => this.#onExit(server));
  }

  send(text: string): void | Promise<void> {
    return this.#writer?.send(text);
  }

  async close(): Promise<void> {
    await this.end();
  }

  /** Ends the input, and watches the process end. */
  end(): Promise<Omit<ProcessEnd, "asking"> | undefined> {
    this.#ending ??= this.#watchEnd();
    return this.#ending;
  }

  async terminate(): ReturnType<StartedServer["terminate"]> {
    const server = this.#server;
    if (server === undefined) return { code: null, signal: null, isForced: false };
    if (server.exit === undefined) process.kill(server.pid, "SIGTERM");
    const isForced = !(await settlesWithin(server.exited, DRAIN_MS));
    await this.end();
    return { code: server.exit?.code ?? null, signal: server.exit?.signal ?? null, isForced };
  }

  async #watchEnd(): Promise<Omit<ProcessEnd, "asking"> | undefined> {
    const server = this.#server;
    if (server === undefined) return undefined;
    const wasRunning = server.exit === undefined;
    const began = performance.now();
    this.#writer?.shut();
    server.stdin.end();
    const isGone = await settlesWithin(server.exited, END_MS);
    const ms = performance.now() - began;
    const { code, signal } = server.exit ?? { code: null, signal: null };
    if (isGone) await settlesWithin(server.gone, LEFTOVER_MS);
    const orphans = isGone ? await groupOf(server.pid) : [];
    await server.stop({ stdinMs: 0, termMs: TERM_MS });
    // What is left in the group holds no pipe, so the end above may not have reached it.
    if (orphans.length > 0) endGroup(server.pid);
    this.#tell(undefined);
    if (!wasRunning) return undefined;
    return { ms: isGone ? ms : undefined, waitedMs: END_MS, code, signal, orphans };
  }

  async #onExit(server: ServerProcess): Promise<void> {
    if (this.#ending !== undefined) return;
    await settlesWithin(server.gone, LEFTOVER_MS);
    const { code: exitCode = null, signal: exitSignal = null } = server.exit ?? {};
    const { command } = this.#command;
    const stderr = this.#tail.lines;
    const likelyCause = likelyCauseOf({ exitCode, exitSignal, stderr, spoke: this.#spoke });
    const words = lastWordsOf(stderr);
    const how = exitSignal === null ? `exited with code ${exitCode}` : `was terminated by ${exitSignal}`;
    const message = [
      `the server process ${how}`,
      ...(likelyCause === undefined ? [] : [`probably ${likelyCause}`]),
      ...(words === undefined ? [] : [`it wrote to stderr: ${words.slice(0, 200)}`]),
    ].join("; ");
    this.#tell(new ConnectionError(message, { delivery: "sent", exitCode, exitSignal, stderr, command, likelyCause }));
    await this.end();
  }

  #tell(reason: Error | undefined): void {
    const events = this.#events;
    this.#events = undefined;
    this.stderr.end();
    this.#writer?.detach(reason);
    events?.onClose(reason);
  }
}

/** Returns the names of the processes of a group whose leader has ended. On Windows they are not known. */
async function groupOf(leader: number): Promise<readonly string[]> {
  if (process.platform === "win32" || !isGroupAlive(leader)) return [];
  // A descendant that is ending has a moment to do so.
  await new Promise((resolve) => setTimeout(resolve, LEFTOVER_MS));
  if (!isGroupAlive(leader)) return [];
  const listed = await new Promise<string>((resolve) =>
    execFile("ps", ["-A", "-o", "pgid=,comm="], (_error, stdout) => resolve(stdout)),
  );
  const names = listed.split("\n").flatMap((line) => {
    const [group, ...words] = line.trim().split(/\s+/);
    return Number(group) === leader ? [words.join(" ")] : [];
  });
  return names.length > 0 ? names : ["a process"];
}

function isGroupAlive(leader: number): boolean {
  try {
    return process.kill(-leader, 0);
  } catch {
    return false;
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
