import type { Cluster } from "node:cluster";
import { pause } from "../../call/abortable.js";
import { type Backoff, backoffMs } from "../../call/backoff.js";
import { systemClock } from "../../call/clock.js";
import { StateHost } from "../../cluster/messages/host.js";
import { canFollow } from "./hand-over.js";
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
   * start; the old ones that are left serve on then. Resolves when `drain` or `close` ends it.
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
  /** Workers that replace another one while it serves. */
  readonly #successors = new WeakMap<Member, Member>();
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
    if (!canFollow(cluster)) cluster.schedulingPolicy = cluster.SCHED_NONE;
    // The errors of a worker are passed on, and explain why it could not start.
    cluster.setupPrimary({ stdio: ["inherit", "inherit", "pipe", "ipc"] });
  }

  get isReady(): boolean {
    return !this.#closing.signal.aborted && [...this.#members].some(({ serves }) => serves);
  }

  /** Starts the first workers. Rejects with the error of a worker that cannot start. */
  async start(): Promise<Address> {
    try {
      const first = Array.from({ length: this.#options.count }, () => this.#fork());
      const [bound] = await Promise.all(first.map(({ started }) => started));
      this.#bound = bound;
      for (const member of first) this.#keep(member);
    } catch (error) {
      await this.close();
      throw error;
    }
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
    const { signal } = this.#closing;
    try {
      for (const old of [...this.#members]) {
        // A worker that starts now may have read the old program.
        await old.started.catch(() => {});
        if (signal.aborted || !old.serves) continue;
        await this.#start(old);
        await old.drain(graceMs, this.#limitMs(graceMs));
      }
    } catch (error) {
      // Workers that start are ended by drain and close.
      if (!signal.aborted) throw error;
    } finally {
      // The old worker may have ended while the new one failed.
      for (let missing = this.#missing; missing > 0; missing--) void this.#replace();
    }
  }

  #limitMs(graceMs: number): number {
    return this.#options.lameDuckMs + graceMs + CLOSE_MS;
  }

  /** Starts a process. It takes the place of `old` as soon as that leaves. Throws if the system refuses a process. */
  #fork(old?: Member): Member {
    const member = new Member(this.#cluster.fork(), {
      host: this.#host,
      key: this.#key,
      port: () => this.#portNow(),
    });
    this.#members.add(member);
    if (old !== undefined) this.#successors.set(member, old);
    void member.ended.then(() => {
      this.#members.delete(member);
      // node:cluster keeps a worker whose process could not be started.
      delete this.#cluster.workers?.[member.id];
    });
    return member;
  }

  /** Starts a worker, in place of `old` if it is given. Rejects if it cannot serve. */
  async #start(old?: Member): Promise<void> {
    for (;;) {
      const member = this.#fork(old);
      try {
        const { port } = await member.started;
        if (port === this.#bound?.port) return this.#keep(member);
      } catch (error) {
        await member.close(CLOSE_MS);
        throw error;
      }
      // It listens on another port, since the last listener on the port was lost meanwhile.
      await member.close(CLOSE_MS);
      if (this.#closing.signal.aborted) return;
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

  /** Starts a worker unless there are as many as wanted. Tries again until it serves. */
  async #replace(): Promise<void> {
    const { signal } = this.#closing;
    for (let isTried = false; !isTried; ) {
      const delay = this.#failures === 0 ? 0 : backoffMs(this.#failures - 1, REPLACE);
      this.#failures++;
      await pause(systemClock, delay, signal);
      if (signal.aborted || this.#missing <= 0) return;
      isTried = await this.#start().then(
        () => true,
        (error: Error) => {
          if (!signal.aborted) process.emitWarning(error);
          return false;
        },
      );
    }
  }

  /** Number of workers that are to be started. The successor of a worker counts when that has left. */
  get #missing(): number {
    const counts = (member: Member) => {
      const old = this.#successors.get(member);
      return !member.isLeaving && (old === undefined || old.isLeaving || old.isEnded);
    };
    return this.#options.count - [...this.#members].filter(counts).length;
  }

  /** Workers share a listener by the port that they ask for. Without one, the port is asked for by its number. */
  #portNow(): number {
    const hasListener = [...this.#members].some(({ serves }) => serves);
    if (this.#bound !== undefined && !hasListener) this.#port = this.#bound.port;
    return this.#port;
  }
}
