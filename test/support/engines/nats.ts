import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NatsClient, NatsLine, NatsMessage } from "#src/nats/client.js";
import { killAfterUs, removeAfterUs } from "./orphans.js";

/** NATS server of tests. */
export interface NatsServer {
  readonly url: string;
  kill(): Promise<void>;
  /** Starts the server again, if it does not run. */
  start(): Promise<void>;
  /** Stops the process without ending it, so that connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends the server and deletes its folder. */
  end(): Promise<void>;
}

/** Returns the server that NATS_URL names, which the tests do not control, or starts one. */
export async function anyNats(): Promise<NatsServer> {
  const url = process.env.NATS_URL;
  if (url === undefined) return startNats();
  const refuse = () => {
    throw new Error("the server of NATS_URL is not under the control of the tests");
  };
  return { url, kill: refuse, freeze: refuse, thaw: refuse, start: async () => {}, end: async () => {} };
}

/** Starts a NATS server on a free port of 127.0.0.1, with JetStream in a temporary folder unless `settings` are given. */
export async function startNats(settings?: string): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-nats-"));
  removeAfterUs(folder);
  const port = await freePort();
  const file = join(folder, "nats.conf");
  writeFileSync(file, settings ?? `jetstream { store_dir: "${join(folder, "store")}" }`);
  let child: ChildProcess | undefined;
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const start = async () => {
    if (!isRunning()) child = await run(["-a", "127.0.0.1", "-p", `${port}`, "-c", file]);
  };
  const kill = async () => {
    if (child === undefined || !isRunning()) return;
    child.ref();
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    kill,
    start,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    async end() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts the program and resolves when it accepts connections. */
async function run(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.env.NATS_SERVER ?? "nats-server", args, { stdio: ["ignore", "ignore", "pipe"] });
  child.once("exit", killAfterUs(child.pid));
  let text = "";
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`nats-server ended: ${text}`)));
    child.stderr?.on("data", (chunk: Buffer) => {
      text = (text + chunk).slice(-10_000);
      if (text.includes("Server is ready")) resolve();
    });
  });
  child.unref();
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** Client whose connections can be cut for good, as the end of its process does. */
export function cuttable(client: NatsClient): NatsClient & { cut(): void } {
  const open = new Set<NatsLine>();
  let isCut = false;
  return {
    async open(onClose, signal) {
      if (isCut) throw new Error("the connection is cut");
      const line = await client.open(onClose, signal);
      open.add(line);
      return line;
    },
    cut() {
      isCut = true;
      for (const line of open) line.close();
    },
  };
}

/** Changes what a client sends and receives. */
export interface Tampering {
  /** True if the connection is lost before the reply of a request that was carried out. */
  losesReply?(subject: string): boolean;
  /** True if a message is lost. */
  loses?(message: NatsMessage): boolean;
}

export function tampered(client: NatsClient, { losesReply, loses }: Tampering): NatsClient {
  return {
    async open(onClose, signal) {
      const line = await client.open(onClose, signal);
      return {
        ...line,
        async request(...args) {
          const reply = await line.request(...args);
          if (losesReply?.(args[0]) === true) throw new Error("the reply was lost");
          return reply;
        },
        subscribe: (subject, listener, onError) =>
          line.subscribe(
            subject,
            (message) => {
              if (loses?.(message) !== true) listener(message);
            },
            onError,
          ),
      };
    },
  };
}
