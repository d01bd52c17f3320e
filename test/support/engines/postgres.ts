import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { killAfterUs, removeAfterUs } from "./orphans.js";

/** PostgreSQL at an address. */
export interface PostgresServer {
  readonly url: string;
  close(): Promise<void>;
}

/** PostgreSQL that a test started. */
export interface PostgresEngine extends PostgresServer {
  readonly port: number;
  /** Folder that contains the data directory (`data`). */
  readonly folder: string;
  /** Ends all processes of the server by SIGKILL. */
  kill(): Promise<void>;
  /** Starts the server on the same port and folder, if it does not run. Resolves when it accepts connections. */
  start(): Promise<void>;
  /** Sends a signal, such as SIGSTOP, to all processes of the server. */
  signal(name: NodeJS.Signals): void;
  /** Ends the server and deletes its folder. */
  close(): Promise<void>;
}

/** Folder of the programs, or undefined if PostgreSQL is not installed. */
export function findPostgres(): string | undefined {
  const base = "/usr/lib/postgresql";
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(base, version, "bin")), ...(process.env.PATH ?? "").split(":")];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** User whose programs run in place of root, which PostgreSQL refuses. */
export const NOBODY = { uid: 65534, gid: 65534 };

/** PostgreSQL refuses root, so that its programs run as nobody then. */
const owner: Partial<typeof NOBODY> = process.getuid?.() === 0 ? NOBODY : {};

/** Returns the server at DATABASE_URL, or starts one. Only a server that was started can be killed. */
export async function findOrStartPostgres(): Promise<PostgresServer | PostgresEngine> {
  const { DATABASE_URL: url } = process.env;
  return url ? { url, close: async () => {} } : startPostgres();
}

/** Starts PostgreSQL on a free port with an empty folder. */
export async function startPostgres(): Promise<PostgresEngine> {
  const bin = findPostgres();
  if (bin === undefined) throw new Error("PostgreSQL is not installed: initdb was not found");
  const folder = mkdtempSync(join(tmpdir(), "bowline-postgres-"));
  removeAfterUs(folder);
  if (owner.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const data = join(folder, "data");
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"];
  const made = spawnSync(join(bin, "initdb"), init, { ...owner, cwd: folder, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const engine: PostgresEngine = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    folder,
    async start() {
      if (server !== undefined && server.exitCode === null && server.signalCode === null) return;
      server = await run(bin, folder, data, port);
    },
    async kill() {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
      const gone = once(server, "exit");
      const pids = treeOf(server.pid);
      for (const pid of pids) send(pid, "SIGKILL");
      await gone;
      await untilGone(pids);
    },
    signal(name) {
      for (const pid of treeOf(server?.pid)) send(pid, name);
    },
    async close() {
      await engine.kill();
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
  await engine.start();
  return engine;
}

async function run(bin: string, folder: string, data: string, port: number): Promise<ChildProcess> {
  // A killed server loses nothing that the system has. Syncing all files at its next start takes seconds.
  const settings = [
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${folder}`,
    "max_connections=200",
    "fsync=off",
  ];
  const args = ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
  const server = spawn(join(bin, "postgres"), args, { ...owner, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  server.once("exit", killAfterUs(server.pid));
  let log = "";
  let isReady = false;
  server.stderr?.on("data", (chunk) => {
    log = (log + chunk).slice(-4000);
    isReady ||= log.includes("ready to accept connections");
  });
  for (let i = 0; i < 2_000; i++) {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}: ${log}`);
    if (isReady) return server;
    await sleep(20);
  }
  for (const pid of treeOf(server.pid)) send(pid, "SIGKILL");
  throw new Error(`postgres did not start: ${log}`);
}

/** Resolves when the processes have ended. A new server cannot start before that. */
async function untilGone(pids: readonly number[]): Promise<void> {
  for (let i = 0; i < 500; i++) {
    const left = processes().filter(({ pid, state }) => pids.includes(pid) && state !== "Z");
    if (left.length === 0) return;
    await sleep(10);
  }
  throw new Error(`processes of PostgreSQL did not end: ${pids.join(", ")}`);
}

/** The processes of the machine, from /proc. */
function processes(): { pid: number; parent: number; state: string | undefined }[] {
  const found = [];
  for (const name of existsSync("/proc") ? readdirSync("/proc") : []) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      found.push({ pid: Number(name), parent: Number(parent), state });
    } catch {
      // The process ended.
    }
  }
  return found;
}

function treeOf(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  const own = processes().filter(({ parent }) => parent === pid);
  return [pid, ...own.map((child) => child.pid)];
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process ended.
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
