import { equal, ok } from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, connect } from "bowline/client";
import { type RunningHttpServer, serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import type { Neighbour } from "./neighbours.js";
import { runCheck, START_MS } from "./run-pair.js";

const exec = promisify(execFile);
const pair = "bowline -> nginx -> bowline http both";
const DRAINS = 20;
const CALLS_PER_SECOND = 200;
const LAME_DUCK_MS = 250;

/** Two replicas behind nginx, one after the other taken out of service and started again, while calls go on. */
export const balanced: Neighbour = {
  pair,
  needs: () => prepareNginx(),
  async run() {
    return [
      await runCheck(pair, "drain", () => roll({ reload: false, upstream: "", proxy: "" }), START_MS),
      await runCheck(pair, "drain-reload", () => roll({ reload: true, upstream: "", proxy: "" }), START_MS),
      await runCheck(pair, "drain-keepalive", () => {
        const proxy = 'proxy_http_version 1.1; proxy_set_header Connection "";';
        return roll({ reload: true, upstream: "keepalive 16;", proxy });
      }),
    ];
  },
};

let prepared: Promise<string> | undefined;

/** The program, installed by Debian's package where that may be done; rejects with the reason. */
function prepareNginx(): Promise<string> {
  prepared ??= findNginx();
  return prepared;
}

export async function findNginx(): Promise<string> {
  const places = [...(process.env.PATH ?? "").split(":"), "/usr/sbin"].map((folder) => join(folder, "nginx"));
  const find = () => places.find((place) => existsSync(place));
  const found = find();
  if (found !== undefined) return found;
  const install = ["install", "-y", "--no-install-recommends", "nginx-light"];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await exec("apt-get", install, { env, timeout: 120_000 }).catch(() => {});
  const installed = find();
  if (installed === undefined) throw new Error("nginx: it is not installed, and apt-get cannot install it");
  return installed;
}

interface Balancing {
  /** Whether nginx is told of each replica that leaves, as a deployment would. */
  readonly reload: boolean;
  /** Lines of the `upstream` block and of the `location`. */
  readonly upstream: string;
  readonly proxy: string;
}

async function roll(balancing: Balancing): Promise<void> {
  const nginx = await Nginx.start(await prepareNginx(), balancing, [await Replica.start(), await Replica.start()]);
  const clients: Client[] = [];
  try {
    for (const era of ["modern", "legacy"] as const) clients.push(await connect(nginx.url, { era }));
    const load = new Load(clients);
    for (let drain = 0; drain < DRAINS; drain++) await nginx.replace(drain % 2);
    await load.stop();
    equal(load.failures.join("; "), "");
    ok(load.calls > DRAINS * 10, `only ${load.calls} calls were made`);
    ok(Math.min(...nginx.served) > DRAINS, `a replica served ${Math.min(...nginx.served)} calls alone`);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await nginx.stop();
  }
}

/** A server on a port of its own, which it keeps when it is started again. */
class Replica {
  served = 0;
  readonly port: number;
  #running: RunningHttpServer;

  private constructor(running: RunningHttpServer) {
    this.port = running.port;
    this.#running = running;
  }

  static async start(): Promise<Replica> {
    const counter = { count: () => {} };
    const replica = new Replica(await Replica.#serve(0, counter));
    counter.count = () => void replica.served++;
    return replica;
  }

  async replace(): Promise<void> {
    await this.#running.drain(5000);
    this.#running = await Replica.#serve(this.port, { count: () => void this.served++ });
  }

  async stop(): Promise<void> {
    await this.#running.close();
  }

  static #serve(port: number, counter: { count(): void }): Promise<RunningHttpServer> {
    const server = new McpServer({ name: "replica", version: "1.0.0" }, { http: { sessions: false } });
    server.tool("work", {}, async () => {
      counter.count();
      await sleep(20);
      return "done";
    });
    return serveHttp(server, { port, lameDuckMs: LAME_DUCK_MS });
  }
}

class Nginx {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #replicas: readonly Replica[];
  readonly #write: (leaving?: number) => void;
  readonly #reloads: boolean;

  private constructor(
    process: ChildProcess,
    folder: string,
    port: number,
    balancing: Balancing,
    replicas: readonly Replica[],
  ) {
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.#process = process;
    this.#folder = folder;
    this.#replicas = replicas;
    this.#reloads = balancing.reload;
    this.#write = (leaving) =>
      writeFileSync(join(folder, "n.conf"), configOf(folder, port, balancing, replicas, leaving));
  }

  static async start(program: string, balancing: Balancing, replicas: readonly Replica[]): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), "nginx-"));
    const port = await freePort();
    writeFileSync(join(folder, "n.conf"), configOf(folder, port, balancing, replicas));
    const args = ["-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "n.conf")];
    const nginx = new Nginx(spawn(program, args, { stdio: "inherit" }), folder, port, balancing, replicas);
    await nginx.#isUp();
    return nginx;
  }

  get served(): readonly number[] {
    return this.#replicas.map(({ served }) => served);
  }

  /** Takes a replica out of service and puts it back. */
  async replace(place: number): Promise<void> {
    if (this.#reloads) this.#reload(place);
    await this.#replicas[place]?.replace();
    if (this.#reloads) this.#reload();
  }

  async stop(): Promise<void> {
    this.#process.kill("SIGTERM");
    await once(this.#process, "exit");
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #reload(leaving?: number): void {
    this.#write(leaving);
    this.#process.kill("SIGHUP");
  }

  async #isUp(): Promise<void> {
    while (
      !(await fetch(this.url).then(
        () => true,
        () => false,
      ))
    ) {
      if (this.#process.exitCode !== null) throw new Error(`nginx exited with code ${this.#process.exitCode}`);
      await sleep(10);
    }
  }
}

/**
 * Passes requests on as nginx does unless told otherwise. A replica that refuses is asked again by the next request. Clients'
 * connections carry one request each: a worker of nginx that a reload ends closes idle ones under the clients' hands.
 */
function configOf(
  folder: string,
  port: number,
  { upstream, proxy }: Balancing,
  replicas: readonly Replica[],
  leaving?: number,
): string {
  const servers = replicas.map((replica, place) => {
    return `server 127.0.0.1:${replica.port} max_fails=0${place === leaving ? " down" : ""};`;
  });
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const folders = kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`);
  return `daemon off; worker_processes 1; pid ${join(folder, "pid")}; error_log ${join(folder, "error.log")};
events { worker_connections 1024; }
http {
  access_log off; keepalive_timeout 0; ${folders.join(" ")}
  upstream replicas { ${servers.join(" ")} ${upstream} }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://replicas; proxy_set_header Host $host; ${proxy} } }
}
`;
}

/** Calls that begin at an even pace, whatever became of the ones before. */
class Load {
  calls = 0;
  readonly failures: string[] = [];
  readonly #open = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor(clients: readonly Client[]) {
    this.#timer = setInterval(
      () => this.#begin(clients[this.calls++ % clients.length] as Client),
      1000 / CALLS_PER_SECOND,
    );
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
  }

  #begin(client: Client): void {
    const call = client.callTool("work").then(
      () => {},
      (error: Error) => void this.failures.push(error.message),
    );
    this.#open.add(call);
    call.finally(() => this.#open.delete(call));
  }
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  listener.close();
  await once(listener, "close");
  return port;
}
