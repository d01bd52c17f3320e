import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RedisClient, RedisConnection } from "#src/redis/connection.js";
import { killAfterUs, removeAfterUs } from "./orphans.js";

/** Redis server of tests. */
export interface RedisServer {
  readonly url: string;
  /** Folder with the append-only file. Undefined for a server that the tests do not control. */
  readonly folder?: string;
  kill(): Promise<void>;
  /** Starts the server again, if it does not run. */
  start(): Promise<void>;
  /** Stops the process without ending it, so that connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends the server and deletes its folder. */
  end(): Promise<void>;
}

/** Returns the server that REDIS_URL names, which the tests do not control, or starts one. */
export async function anyRedis(): Promise<RedisServer> {
  const url = process.env.REDIS_URL;
  if (url === undefined) return startRedis();
  const refuse = () => {
    throw new Error("the server of REDIS_URL is not under the control of the tests");
  };
  return { url, kill: refuse, freeze: refuse, thaw: refuse, start: async () => {}, end: async () => {} };
}

/** Starts a Redis server on a free port of 127.0.0.1, with an append-only file in a temporary folder. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-redis-"));
  removeAfterUs(folder);
  const port = await freePort();
  let child: ChildProcess | undefined;
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const start = async () => {
    if (!isRunning())
      child = await run(["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, ...DURABLE, ...settings]);
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
    url: `redis://127.0.0.1:${port}`,
    folder,
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

/** Settings with which a reply means that a write is on disk. By default, Redis writes up to seconds later. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

/** Starts the program and resolves when it accepts connections. */
async function run(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.env.REDIS_SERVER ?? "redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  child.once("exit", killAfterUs(child.pid));
  let text = "";
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`redis-server ended: ${text}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      text = (text + chunk).slice(-10_000);
      if (text.includes("Ready to accept connections")) resolve();
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
export function cuttable(client: RedisClient): RedisClient & { cut(): void } {
  const open = new Set<RedisConnection>();
  let isCut = false;
  return {
    async open(events, signal) {
      if (isCut) throw new Error("the connection is cut");
      const connection = await client.open(events, signal);
      open.add(connection);
      return connection;
    },
    cut() {
      isCut = true;
      for (const connection of open) connection.close();
    },
  };
}

/** Changes what a client sends and receives. */
export interface Tampering {
  /** Gives the reply of a command, or undefined to send it. `lua` is the text of the script that it runs. */
  command?(args: readonly string[], lua: string): Promise<unknown> | undefined;
  /** True if the connection is lost before the reply of a command that was carried out. */
  losesReply?(lua: string, args: readonly string[]): boolean;
  /** True if a message is lost. */
  loses?(channel: string, text: string): boolean;
}

export function tampered(client: RedisClient, { command, loses, losesReply }: Tampering): RedisClient {
  const scripts = new Map<string, string>();
  return {
    async open(events, signal) {
      const onMessage = (channel: string, text: string) => {
        if (loses?.(channel, text) !== true) events.onMessage(channel, text);
      };
      const connection = await client.open({ ...events, onMessage }, signal);
      const send = async (args: readonly string[]) => {
        const lua = scripts.get(args[1] ?? "") ?? "";
        const reply = await (command?.(args, lua) ?? connection.command(args));
        if (args[0] === "SCRIPT") scripts.set(String(reply), args[2] ?? "");
        if (losesReply?.(lua, args) === true) throw new Error("the reply was lost");
        return reply;
      };
      return { ...connection, command: send };
    },
  };
}
