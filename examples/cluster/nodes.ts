import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Engine, freePort, Program } from "./programs.js";

export type Status = "starting" | "ok" | "degraded" | "killed" | "stopped";

/** Life of a lease in the example. A node that is stopped for longer is declared dead. */
export const LEASE_MS = 3_000;
/** Time between the end of a program and its next start. */
const PAUSE_MS = 1_500;

const program = fileURLToPath(new URL("server.js", import.meta.url));
const STATE_KEYS = `1:${randomBytes(32).toString("base64")}`;

/** Process that can be killed and starts again. */
abstract class Part {
  status: Status = "starting";
  protected running: Program | undefined;
  #isClosed = false;

  constructor(readonly name: string) {}

  protected abstract run(): Promise<Program | undefined>;

  async start(): Promise<void> {
    this.status = "starting";
    this.running = await this.run();
    if (this.#isClosed) await this.running?.kill();
  }

  /** Kills the program by SIGKILL, and starts it again after a moment. Does nothing while it is down already. */
  async kill(): Promise<void> {
    if (this.status === "killed" || this.running === undefined) return;
    this.status = "killed";
    await this.running.kill();
    await sleep(PAUSE_MS);
    if (!this.#isClosed) await this.start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.running?.kill();
  }
}

export class EnginePart extends Part {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    super(engine.name);
    this.#engine = engine;
  }

  get canBeKilled(): boolean {
    return this.#engine.start !== undefined;
  }

  protected async run(): Promise<Program | undefined> {
    const running = await this.#engine.start?.();
    this.status = "ok";
    return running;
  }
}

/** Node of the cluster in its own process. */
export class NodePart extends Part {
  /** Counters of the node: calls that run, sessions that it knows, and open streams of both eras. */
  stats = { running: 0, sessions: 0, streams: 0 };
  readonly #env: NodeJS.ProcessEnv;

  private constructor(
    name: string,
    readonly port: number,
    clusterUrl: string,
  ) {
    super(name);
    const own = { NODE_NAME: name, HOST: "127.0.0.1", PORT: `${port}`, ALLOWED_HOSTS: "127.0.0.1", STATE_KEYS };
    this.#env = { ...process.env, ...own, CLUSTER_URL: clusterUrl, NODE_LEASE_MS: `${LEASE_MS}` };
  }

  static async create(name: string, { url }: Engine): Promise<NodePart> {
    return new NodePart(name, await freePort(), url);
  }

  protected async run(): Promise<Program> {
    this.stats = { running: 0, sessions: 0, streams: 0 };
    const running = new Program([process.execPath, program], { env: this.#env });
    running.onMessage((message) => {
      const { running = 0, sessions = 0, streams = 0, openRequests = 0 } = message as Record<string, number>;
      this.stats = { running, sessions, streams: streams + openRequests };
    });
    return running;
  }

  /** Stops the process for longer than its lease lives, then lets it go on. */
  async stop(): Promise<void> {
    if (this.status !== "ok" && this.status !== "degraded") return;
    this.status = "stopped";
    await this.running?.signal("SIGSTOP");
    await sleep(LEASE_MS + 1_000);
    if (this.status !== "stopped") return; // it was killed
    await this.running?.signal("SIGCONT");
    this.status = "starting";
  }

  /** Asks the node for its state. */
  async look(): Promise<void> {
    if (this.status === "killed" || this.status === "stopped") return;
    const signal = AbortSignal.timeout(400);
    const text = await fetch(`http://127.0.0.1:${this.port}/readyz`, { signal })
      .then((response) => response.text())
      .catch(({ name }: Error) => (name === "TimeoutError" ? this.status : "starting")); // a slow response says nothing
    const found = (["ok", "degraded", "starting"] as const).find((word) => text.includes(word));
    // It may have been killed meanwhile.
    if (found !== undefined && (["ok", "degraded", "starting"] as Status[]).includes(this.status)) this.status = found;
  }
}
