import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

/** Runs a program until the input ends, so that it ends with this process, however that ends. Prints its process id. */
const WATCHDOG = '"$@" >&2 & echo $!; read -r _; kill -9 $!; wait $!';

/** Child process with its own process group, so that keys of the terminal do not reach it. */
export class Program {
  readonly #watchdog: ChildProcess;
  readonly #pid: Promise<number>;
  #log = "";

  constructor(command: readonly string[], options: { readonly env?: NodeJS.ProcessEnv; readonly uid?: number } = {}) {
    const args = ["-c", WATCHDOG, "sh", ...command];
    this.#watchdog = spawn("/bin/sh", args, { ...options, detached: true, stdio: ["pipe", "pipe", "pipe", "ipc"] });
    this.#pid = once(this.#watchdog.stdout ?? this.#watchdog, "data").then(([line]) => Number(line));
    this.#watchdog.stderr?.on("data", (chunk) => {
      this.#log = (this.#log + chunk).slice(-2000);
    });
  }

  /** Last lines of its output. */
  get log(): string {
    return this.#log;
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#watchdog.on("message", listener);
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    process.kill(await this.#pid, name);
  }

  /** Ends the program by SIGKILL. */
  async kill(): Promise<void> {
    if (this.#watchdog.exitCode !== null || this.#watchdog.signalCode !== null) return;
    const exit = once(this.#watchdog, "exit");
    this.#watchdog.stdin?.end();
    await exit;
  }
}

/** Engine of the nodes. Its URL stays the same when it starts again. */
export interface Engine {
  readonly name: string;
  readonly url: string;
  /** Starts the program. Missing for an engine without one. */
  readonly start?: () => Promise<Program>;
}

/** Program that is not installed, or too old. Its message contains the remedies. */
export class Missing extends Error {}

const debianPostgres = "/usr/lib/postgresql";

/** Engines by name. Each keeps its files in the folder. */
export const engines: Readonly<Record<string, (folder: string) => Promise<Engine>>> = {
  async redis(folder) {
    const redis = find("redis-server", "redis-server");
    const port = await freePort();
    const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes", "--save", ""];
    const start = () => listening(() => new Program([redis, ...args]), port);
    return { name: "redis", url: `redis://127.0.0.1:${port}`, start };
  },
  async postgres(folder) {
    const versions = existsSync(debianPostgres) ? readdirSync(debianPostgres) : [];
    const folders = versions.map((version) => join(debianPostgres, version, "bin"));
    const [initdb, postgres] = ["initdb", "postgres"].map((name) => find(name, "postgresql", folders));
    const owner = process.getuid?.() === 0 ? { uid: 65534 } : {}; // PostgreSQL refuses root
    const data = join(folder, "postgres");
    mkdirSync(data);
    if (owner.uid !== undefined) for (const path of [folder, data]) chownSync(path, owner.uid, 0);
    const quiet = { ...owner, cwd: folder, stdio: "ignore" } as const;
    execFileSync(initdb as string, ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C"], quiet);
    const port = await freePort();
    const settings = ["-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${data}`, "-c", "fsync=off"];
    const command = [postgres as string, "-D", data, "-p", `${port}`, ...settings];
    const start = () => listening(() => new Program(command, owner), port);
    return { name: "postgres", url: `postgres://postgres@127.0.0.1:${port}/postgres`, start };
  },
  async sqlite(folder) {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    if (major < 22 || (major === 22 && minor < 13))
      throw new Missing(
        `sqlite needs Node.js 22.13 or newer, and this is ${process.versions.node}: install it, or let npm fetch it: ` +
          "npm run on-node -- 22 examples/dist/cluster/play.js sqlite",
      );
    return { name: "sqlite", url: pathToFileURL(join(folder, "state.db")).href };
  },
};

/** Starts nginx with the configuration of the example, before nodes at these ports. Returns the address of the server. */
export async function startNginx(folder: string, nodes: readonly number[]): Promise<{ url: string; nginx: Program }> {
  const program = find("nginx", "nginx", ["/usr/sbin"]);
  const port = await freePort();
  const own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = readFileSync(new URL("../../cluster/nginx.conf", import.meta.url), "utf8")
    .replace(/node-(\d):3000/g, (_, digit) => `127.0.0.1:${nodes[Number(digit) - 1]}`)
    .replace("listen 8080;", `listen 127.0.0.1:${port};`)
    .replace("http {", `http {\n  ${own.join("\n  ")}\n  add_header X-Node $upstream_addr always;`);
  const path = join(folder, "nginx.conf");
  writeFileSync(path, config);
  const main = `daemon off; master_process off; pid ${folder}/nginx.pid;`;
  const args = ["-p", folder, "-e", "stderr", "-c", path, "-g", main];
  const nginx = await listening(() => new Program([program, ...args]), port);
  return { url: `http://127.0.0.1:${port}/mcp`, nginx };
}

function find(program: string, debian: string, further: readonly string[] = []): string {
  const folders = [...further, ...(process.env.PATH ?? "").split(delimiter)];
  const found = folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  const docker = "or use Docker: docker compose -f examples/cluster/compose.yaml up";
  throw new Missing(`${program} was not found: install it (Debian: apt-get install ${debian}), ${docker}`);
}

/** Starts a program until it accepts connections. A killed PostgreSQL may refuse to start for a moment. */
async function listening(start: () => Program, port: number): Promise<Program> {
  let program = start();
  for (let attempt = 1; attempt <= 100; attempt++) {
    if (await accepts(port)) return program;
    await sleep(100);
    if (attempt % 20 !== 0) continue;
    await program.kill();
    program = start();
  }
  await program.kill();
  throw new Error(`a program does not listen on its port: ${program.log}`);
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy());
}

/** Returns a port that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, "close");
  return port;
}
