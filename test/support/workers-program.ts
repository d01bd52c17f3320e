import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { askPort, lastMessage, legacy, type PlainRequest } from "./plain-http.js";
import { Lines, program } from "./server-child.js";

export interface WorkersOptions {
  readonly serve: Readonly<Record<string, unknown>>;
  readonly own?: boolean;
  /** Number of the first worker that cannot start. */
  readonly fail?: number;
  /** Number of the first worker that waits for `release`. */
  readonly hold?: number;
  /** Number of the first worker whose release sends other messages. */
  readonly upgraded?: number;
  /** True for a `node:cluster` without its messages about connections. */
  readonly hidden?: boolean;
  /** True for a listener on whose clock no time passes. */
  readonly stopped?: boolean;
  /** Maximum number of files that a process can open. */
  readonly files?: number;
  readonly limits?: Readonly<Record<string, number>>;
}

/** Number of processes of a program that live, as connections to a port. */
class Presences {
  readonly #server = createServer((socket) => {
    this.#change(1);
    socket.on("error", () => {}).resume();
    socket.once("close", () => this.#change(-1));
  });
  #waiting: (() => void)[] = [];
  count = 0;

  async listen(t: TestContext): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    t.after(() => this.#server.close());
    return (this.#server.address() as AddressInfo).port;
  }

  #change(by: number): void {
    this.count += by;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when no process lives any more. */
  async gone(): Promise<void> {
    await this.until(0);
  }

  /** Resolves when so many processes live. */
  async until(count: number): Promise<void> {
    while (this.count !== count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/** Program `children/workers.mjs` in its own processes. */
export class WorkersProgram {
  readonly lines = new Lines();
  readonly errors = new Lines();
  readonly presences = new Presences();
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(t: TestContext, { files, ...options }: Omit<WorkersOptions, "serve">) {
    const command = [process.execPath, program("workers"), JSON.stringify(options)];
    const limited = files === undefined ? command : ["sh", "-c", `ulimit -n ${files}; exec "$@"`, "sh", ...command];
    const [first = "", ...args] = limited;
    this.#child = spawn(first, args, { detached: true });
    createInterface({ input: this.#child.stdout }).on("line", this.lines.take);
    createInterface({ input: this.#child.stderr }).on("line", this.errors.take);
    this.ended = once(this.#child, "exit").then(([code]) => code as number | null);
    t.after(async () => {
      this.#child.kill("SIGKILL");
      await this.presences.gone();
    });
  }

  static async start(t: TestContext, options: WorkersOptions): Promise<WorkersProgram> {
    const presences = new Presences();
    const presence = await presences.listen(t);
    const all = { presence, ...options };
    return Object.assign(new WorkersProgram(t, all), { presences });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Resolves with the port, once the primary tells it. */
  async port(): Promise<number> {
    const line = await this.lines.until(/^url /);
    return Number(/:(\d+)\//.exec(line)?.[1]);
  }

  /** Resolves with the process ids of the first workers, once there are so many. */
  async workers(count: number): Promise<number[]> {
    return (await this.lines.count(count, "worker ")).map((line) => Number(line.split(" ")[2]));
  }

  /** Sends a command to the primary, and resolves with its report. */
  async command(name: "restart" | "drain" | "close"): Promise<string> {
    this.#child.stdin.write(`${name}\n`);
    return this.lines.until(new RegExp(`^${name} `));
  }

  /** Lets the primary start no process, until `unblock`. */
  async block(how: "folder" | "user" | "files"): Promise<void> {
    this.#child.stdin.write(`block ${how}\n`);
    await this.lines.until("blocked");
  }

  async unblock(): Promise<void> {
    this.#child.stdin.write("unblock\n");
    await this.lines.until("unblocked");
  }

  /** Resolves when a worker waits for its release, with the function that releases it. */
  async held(id: number): Promise<() => void> {
    const [, , pid] = (await this.lines.until(new RegExp(`^held ${id} `))).split(" ");
    return () => void process.kill(Number(pid), "SIGUSR2");
  }

  /** Resolves with the process id of a worker, once it serves. */
  async worker(id: number): Promise<number> {
    return Number((await this.lines.until(new RegExp(`^worker ${id} `))).split(" ")[2]);
  }

  signal(signal: NodeJS.Signals, to: "primary" | "group"): void {
    process.kill(to === "group" ? -this.pid : this.pid, signal);
  }
}

/** Calls a tool in a session, on a new connection. Resolves with its text. */
export async function callIn(port: number, headers: Record<string, string>, name: string, args = {}): Promise<string> {
  const answer = await askPort(port, callOf(headers, name, args));
  const { result, error } = lastMessage(answer);
  const [first] = (result?.content ?? []) as { readonly text: string }[];
  return first?.text ?? `${answer.status} ${error?.message}`;
}

export function callOf(headers: Record<string, string>, name: string, args = {}): PlainRequest {
  return legacy({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }, { headers });
}

/** Response whose events are read one by one. */
export interface Stream {
  readonly lines: Lines;
  /** Resolves when the response is over, with true if it is complete. */
  readonly ended: Promise<boolean>;
}

/** Sends a request on a new connection, and reads the events of its response. */
export function openStream(port: number, { method = "POST", headers, body }: PlainRequest): Stream {
  const lines = new Lines();
  const ended = new Promise<boolean>((resolve) => {
    const all = { host: "localhost", ...(headers as Record<string, string>) };
    const sent = request({ port, host: "127.0.0.1", path: "/mcp", method, headers: all, agent: false }, (response) => {
      createInterface({ input: response })
        .on("line", lines.take)
        .on("error", () => {});
      response.on("error", () => {}).once("close", () => resolve(response.complete));
    });
    sent.on("error", () => resolve(false));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
  return { lines, ended };
}
