import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { settlesWithin } from "../../call/abortable.js";
import { ConnectionError } from "../../protocol/errors.js";
import { childEnvironment, type Environment } from "../environment.js";
import { planLaunch } from "./launch.js";
import { endTree, endTreeWithHost } from "./tree.js";

/** Command and environment of a server process. */
export interface ServerProcessOptions {
  /** Name of a program on the path, or path of a program. */
  readonly command: string;
  /** Arguments, passed unchanged. No shell interprets them. */
  readonly args?: readonly string[] | undefined;
  /** Variables to add to `defaultEnvironment()`. `undefined` removes a variable. */
  readonly env?: Environment | undefined;
  /**
   * Working directory.
   * @default the working directory of this process
   */
  readonly cwd?: string | undefined;
}

/** Times of the steps that stop a process. */
export interface StopTimes {
  /** Time to wait after the end of its input, before SIGTERM. */
  readonly stdinMs: number;
  /** Time to wait after SIGTERM, before SIGKILL. */
  readonly termMs: number;
}

/** Time to wait for the pipes when the process has exited or was killed. A descendant may hold them open forever. */
const LEFTOVER_MS = 500;

/** Child process with its three pipes. It leads its own process group (a tree on Windows). */
export class ServerProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Null if stderr is ignored. */
  readonly stderr: Readable | null;
  /** Resolves when the process has exited. */
  readonly exited: Promise<void>;
  /** Resolves when the process has exited and its pipes are closed, so that all its output has been read. */
  readonly gone: Promise<void>;
  /** Undefined while the process runs. */
  exit: { readonly code: number | null; readonly signal: string | null } | undefined;
  /** True if this side ended the process with a signal. */
  forced = false;
  readonly #child: ChildProcess;
  readonly #forget: () => void;

  /** Wraps a child that has a process id. */
  constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid!;
    this.stdin = child.stdin!;
    this.stdout = child.stdout!;
    this.stderr = child.stderr;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.exit = { code, signal };
        resolve();
      });
    });
    this.gone = new Promise((resolve) => child.once("close", () => resolve()));
    this.#forget = endTreeWithHost(this.pid);
  }

  /**
   * Ends the input and waits for the process to exit. If it does not exit in time, terminates it with its descendants.
   * Resolves when the process has exited, or cannot be killed and no longer keeps this process alive. The output must
   * be read meanwhile, since the process may block on a full pipe.
   */
  async stop(times: StopTimes): Promise<void> {
    this.stdin.end();
    if (!(await this.#goesByItself(times.stdinMs))) await this.#force(times.termMs);
    this.#forget();
  }

  #goesByItself(stdinMs: number): Promise<boolean> {
    return settlesWithin(this.gone, this.exit === undefined ? stdinMs : LEFTOVER_MS);
  }

  async #force(termMs: number): Promise<void> {
    const orphansOnly = this.exit !== undefined;
    this.forced = !orphansOnly;
    const reached = endTree(this.pid, "SIGTERM");
    if (reached) await settlesWithin(this.gone, orphansOnly ? Math.min(termMs, LEFTOVER_MS) : termMs);
    // A descendant without the pipes may have survived SIGTERM, even if the pipes are closed.
    endTree(this.pid, "SIGKILL");
    if (reached && (await settlesWithin(this.gone, LEFTOVER_MS))) return;
    this.#abandon();
  }

  /** Releases the pipes and the process if a descendant holds the pipes or the process cannot be killed. */
  #abandon(): void {
    for (const pipe of [this.stdin, this.stdout, this.stderr]) pipe?.destroy();
    this.#child.unref();
  }
}

/** Starts a process. Rejects with a `ConnectionError` that names the command and the likely cause. */
export async function startServerProcess(
  options: ServerProcessOptions,
  stderr: "pipe" | "ignore",
): Promise<ServerProcess> {
  const child = launch(options, stderr);
  const running = child.pid === undefined ? undefined : new ServerProcess(child);
  try {
    await spawned(child);
  } catch (cause) {
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
    throw startFailure(options, cause);
  }
  return running!;
}

function launch(options: ServerProcessOptions, stderr: "pipe" | "ignore"): ChildProcess {
  try {
    const env = childEnvironment(options.env);
    const plan = planLaunch(options.command, options.args ?? [], { name: process.platform, env, isFile });
    return spawn(plan.file, plan.args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env,
      windowsVerbatimArguments: plan.verbatim,
      stdio: ["pipe", "pipe", stderr],
      shell: false,
      windowsHide: true,
      // On Windows this option would open a console window. The tree is found without it.
      detached: process.platform !== "win32",
    });
  } catch (cause) {
    throw startFailure(options, cause);
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    // This listener stays for the life of the child: later failures to signal it are reported here and have no effect.
    child.on("error", reject);
  });
}

function startFailure(options: ServerProcessOptions, cause: unknown): ConnectionError {
  const { command } = options;
  const likelyCause = whyNotStarted(options, cause as NodeJS.ErrnoException);
  return new ConnectionError(`Cannot start the server process "${command}": ${likelyCause}`, {
    delivery: "not_sent",
    cause,
    command,
    likelyCause,
  });
}

function whyNotStarted(options: ServerProcessOptions, cause: NodeJS.ErrnoException): string {
  if (options.cwd !== undefined && !isDirectory(options.cwd)) {
    return `its working directory "${options.cwd}" is not a directory`;
  }
  switch (cause.code) {
    case "ENOENT":
      if (/\s/.test(options.command)) return "no such program (ENOENT): pass arguments in `args`, not in `command`";
      return process.platform === "win32"
        ? "no such program (ENOENT)"
        : "no such program, or the interpreter named in its first line is missing (ENOENT)";
    case "EACCES":
      return "it is not an executable file, or this user may not run it (EACCES)";
    default:
      return cause.message;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
