import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Client, type ClientOptions, type CommandTarget, connect } from "bowline/client";
import { type Era, speaking, type TestContext } from "./raw-peer.js";

/** Where a program for tests lies. */
export function program(name: string): string {
  return fileURLToPath(new URL(`../../../test/support/children/${name}.mjs`, import.meta.url));
}

/** How to start one of the programs in `children`. */
export function child(
  name: string,
  ...args: readonly unknown[]
): { readonly command: string; readonly args: string[] } {
  const texts = args.map((arg) => (typeof arg === "string" ? arg : JSON.stringify(arg)));
  return { command: process.execPath, args: [program(name), ...texts] };
}

/** Long enough that a test which has to wait for it is seen to hang. */
export const NEVER = { stdinMs: 600_000, termMs: 600_000 };
export const SOON = { stdinMs: 50, termMs: 50 };

/** Lines of a text stream, to be waited for. */
export class Lines {
  readonly all: string[] = [];
  #waiting: (() => void)[] = [];

  readonly take = (line: string): void => {
    this.all.push(line);
    for (const resolve of this.#waiting.splice(0)) resolve();
  };

  async until(fits: string | RegExp): Promise<string> {
    for (;;) {
      const found = this.all.find((line) => (typeof fits === "string" ? line === fits : fits.test(line)));
      if (found !== undefined) return found;
      await this.#next();
    }
  }

  /** Resolves with the lines that begin so, once there are so many: what two pipes carry arrives in any order. */
  async count(many: number, start: string): Promise<string[]> {
    for (;;) {
      const found = this.all.filter((line) => line.startsWith(start));
      if (found.length >= many) return found;
      await this.#next();
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export interface ChildClient {
  readonly client: Client;
  /** What the server wrote to its standard error. */
  readonly stderr: Lines;
}

/** A client of a server in a process of its own; closed when the test ends. */
export async function connectChild(
  t: TestContext,
  era: Era,
  target: CommandTarget,
  options: ClientOptions = {},
): Promise<ChildClient> {
  const stderr = new Lines();
  const client = await connect({ stderr: stderr.take, shutdown: NEVER, ...target }, { ...speaking(era), ...options });
  t.after(() => client.close());
  return { client, stderr };
}

/** A server process with its bare pipes. */
export interface BareChild {
  readonly process: ChildProcessWithoutNullStreams;
  readonly stdout: Lines;
  readonly stderr: Lines;
  /** Resolves when the process has gone and all its output has been read. */
  readonly gone: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  send(message: object): void;
}

export function spawnBare(t: TestContext, target: ReturnType<typeof child>, env: NodeJS.ProcessEnv = {}): BareChild {
  const started = spawn(target.command, target.args, { env: { ...process.env, ...env } });
  t.after(() => started.kill("SIGKILL"));
  started.stdin.on("error", () => {});
  const gone = once(started, "close").then(([code, signal]) => ({ code, signal }));
  return {
    process: started,
    stdout: linesOf(started.stdout),
    stderr: linesOf(started.stderr),
    gone,
    send: (message) => started.stdin.write(`${JSON.stringify(message)}\n`),
  };
}

function linesOf(stream: NodeJS.ReadableStream): Lines {
  const lines = new Lines();
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) lines.take(part);
  });
  return lines;
}

/** Whether a process exists. */
export function exists(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** What keeps this process alive, once what is being closed has been closed. */
export async function held(): Promise<string[]> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  const kinds = ["PipeWrap", "ProcessWrap", "TCPSocketWrap", "Timeout"];
  return process
    .getActiveResourcesInfo()
    .filter((name) => kinds.includes(name))
    .sort();
}
