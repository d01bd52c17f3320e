import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { killAfterUs, removeAfterUs } from "./orphans.js";

/** nginx that a test started. */
export interface NginxServer {
  readonly port: number;
  end(): Promise<void>;
}

/** Folders that nginx writes to. By default they are those of the system. */
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** Starts nginx on a free port of 127.0.0.1. `configure` returns its configuration, which listens on the port. */
export async function startNginx(configure: (port: number) => string): Promise<NginxServer> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-nginx-"));
  removeAfterUs(folder);
  const port = await freePort();
  const paths = TEMPORARY.map((name) => `${name}_temp_path ${join(folder, name)};`).join("\n  ");
  writeFileSync(join(folder, "nginx.conf"), configure(port).replace(/^http \{$/m, `http {\n  ${paths}`));
  const main = `daemon off; master_process off; pid ${join(folder, "pid")};`;
  const args = ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf"), "-g", main];
  const child = spawn(findNginx(), args, { stdio: ["ignore", "ignore", "pipe"] });
  child.once("exit", killAfterUs(child.pid));
  for (const part of [child, child.stderr] as unknown as { unref(): void }[]) part.unref();
  let log = "";
  child.stderr.on("data", (chunk) => {
    log = (log + chunk).slice(-4000);
  });
  const exit = once(child, "exit");
  const end = async () => {
    child.ref();
    child.kill();
    await exit;
    rmSync(folder, { recursive: true, force: true });
  };
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${log}`);
    await sleep(10);
  }
  return { port, end };
}

function findNginx(): string {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  const found = folders.map((folder) => join(folder, "nginx")).find((path) => existsSync(path));
  if (found === undefined) throw new Error("nginx is not installed");
  return found;
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  }).then((isOpen) => {
    socket.destroy();
    return isOpen === true;
  });
}

/** Ports below those that the system gives to outgoing connections, which take a free port in no time. */
const FIRST_PORT = 12_000;
const PORTS = 20_000;

/** Returns a free port that no other test gets while this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (!reserve(port)) continue;
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) {
      await once(server, "close");
      return port;
    }
  }
}

/**
 * Reserves a port by a folder of its name. The program that a test starts takes the port some time after it was found
 * free: two programs that got the same one would both seem to be up, since one of them accepts connections.
 */
function reserve(port: number): boolean {
  const folder = join(tmpdir(), `bowline-port-${port}`);
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  removeAfterUs(folder);
  return true;
}
