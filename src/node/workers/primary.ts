import type { Cluster } from "node:cluster";
import { type Backoff, backoffMs } from "../../call/backoff.js";
import { pause, systemClock } from "../../call/clock.js";
import { StateHost } from "../../cluster/messages/state-host.js";
import { type Address, Member } from "./member.js";

/** Processes that serve together, as their primary sees them. */
export interface RunningHttpPrimary {
  /** Undefined in the primary. */
  readonly worker: undefined;
  readonly url: string;
  readonly port: number;
  /** True if new clients are accepted: at least one worker serves, and neither draining nor closing has begun. */
  readonly ready: boolean;
  /**
   * Replaces all workers, one at a time: a new one listens before the old one drains. Rejects if a new worker cannot
   * start; the old ones that are left serve on then.
   * @default graceMs: 10_000
   */
  restart(graceMs?: number): Promise<void>;
  /** Drains all workers, and ends them. */
  drain(graceMs: number): Promise<void>;
  /** Closes all workers, and ends them. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface PrimaryOptions {
  readonly count: number;
  readonly port: number;
  readonly lameDuckMs: number;
}

/** Delays before a worker is replaced that ended soon after its start. */
const REPLACE: Backoff = { delayMs: 100, maxDelayMs: 10_000 };

/** Time of service after which the end of a worker counts as the first one. */
const STEADY_MS = 10_000;

/** Time that workers have to end beyond the times that they were given. */
const CLOSE_MS = 10_000;

const GRACE_MS = 10_000;
const KEY_BYTES = 32;

/** Starts the workers, and replaces each one that ends. Resolves when all of them serve. */
export async function serveInPrimary(
  cluster: Cluster,
  server: { close(): Promise<void> },
  options: PrimaryOptions,
): Promise<RunningHttpPrimary> {
  const pool = new WorkerPool(cluster, options);
  const { url, port } = await pool.start();
  let closed: Promise<void> | undefined;
  const end = async (workers: Promise<void>) => {
    await workers;
    await server.close();
  };
  const close = () => {
    closed ??= end(pool.close());
    return closed;
  };
  return {
    worker: undefined,
    url,
    port,
    get ready() {
      return pool.isReady;
    },
    restart: (graceMs = GRACE_MS) => pool.restart(graceMs),
    drain: (graceMs) => end(pool.drain(graceMs)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

class WorkerPool {
  readonly #cluster: Cluster;
  readonly #options: PrimaryOptions;
  readonly #host = new StateHost();
  readonly #key: string;
  readonly #members = new Set<Member>();
  readonly #closing = new AbortController();
  /** Port that workers listen on. 0 until a listener with a free port is lost. */
  #port: number;
  #bound: Address | undefined;
  /** Number of workers that ended soon after their start, one after the other. */
  #failures = 0;
  #restarting: Promise<void> | undefined;

  constructor(cluster: Cluster, options: PrimaryOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#port = options.port;
    this.#key = Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString("base64");
    // The errors of a worker are passed on, and explain why it could not start.
    cluster.setupPrimary({ stdio: ["inherit", "inherit", "pipe", "ipc"] });
  }

  get isReady(): boolean {
    return !this.#closing.signal.aborted && [...this.#members].some(({ serves }) => serves);
  }

  /** Starts the first workers. Rejects with the error of a worker that cannot start. */
  async start(): Promise<Address> {
    const first = Array.from({ length: this.#options.count }, () => this.#fork());
    try {
      const [bound] = await Promise.all(first.map(({ started }) => started));
      this.#bound = bound;
    } catch (error) {
      await this.close();
      throw error;
    }
    for (const member of first) this.#keep(member);
    return this.#bound as Address;
  }

  async drain(graceMs: number): Promise<void> {
    this.#closing.abort();
    const limitMs = this.#limitMs(graceMs);
    await Promise.all([...this.#members].map((member) => member.drain(graceMs, limitMs)));
    this.#host.close();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#members].map((member) => member.close(CLOSE_MS)));
    this.#host.close();
  }

  restart(graceMs: number): Promise<void> {
    this.#restarting ??= this.#restart(graceMs).finally(() => {
      this.#restarting = undefined;
    });
    return this.#restarting;
  }

  async #restart(graceMs: number): Promise<void> {
    for (const old of [...this.#members]) {
      if (this.#closing.signal.aborted || !old.serves) continue;
      const next = this.#fork();
      await this.#serves(next);
      this.#keep(next);
      await old.drain(graceMs, this.#limitMs(graceMs));
    }
  }

  #limitMs(graceMs: number): number {
    return this.#options.lameDuckMs + graceMs + CLOSE_MS;
  }

  #fork(): Member {
    const member = new Member(this.#cluster.fork(), {
      host: this.#host,
      key: this.#key,
      port: () => this.#portNow(),
    });
    this.#members.add(member);
    void member.ended.then(() => this.#members.delete(member));
    return member;
  }

  /** Resolves when a worker serves. Ends a worker that cannot, although its program goes on. */
  async #serves(member: Member): Promise<Address> {
    try {
      return await member.started;
    } catch (error) {
      await member.close(CLOSE_MS);
      throw error;
    }
  }

  /** Replaces a worker when it ends, unless it was told to. */
  #keep(member: Member): void {
    void member.ended.then(() => {
      if (member.isLeaving || this.#closing.signal.aborted) return;
      if (performance.now() - (member.servesSince ?? 0) >= STEADY_MS) this.#failures = 0;
      process.emitWarning(`serveHttp: worker ${member.id} ${member.end}; another one is started`);
      void this.#replace();
    });
  }

  /** Starts workers until there are as many as wanted. */
  async #replace(): Promise<void> {
    const { signal } = this.#closing;
    const delay = this.#failures === 0 ? 0 : backoffMs(Math.min(this.#failures - 1, 10), REPLACE);
    this.#failures++;
    await pause(systemClock, delay, signal);
    const isEnough = [...this.#members].filter(({ isLeaving }) => !isLeaving).length >= this.#options.count;
    if (signal.aborted || isEnough) return;
    const member = this.#fork();
    try {
      const { port } = await this.#serves(member);
      if (port !== this.#bound?.port) return await this.#replaceStray(member);
      this.#keep(member);
    } catch (error) {
      if (signal.aborted) return;
      process.emitWarning(error as Error);
      await this.#replace();
    }
  }

  /** Replaces a worker that listens on another port, since the last listener on the port was lost meanwhile. */
  async #replaceStray(member: Member): Promise<void> {
    await member.close(CLOSE_MS);
    await this.#replace();
  }

  /** Workers share a listener by the port that they ask for. Without one, the port is asked for by its number. */
  #portNow(): number {
    const hasListener = [...this.#members].some(({ serves }) => serves);
    if (this.#bound !== undefined && !hasListener) this.#port = this.#bound.port;
    return this.#port;
  }
}
