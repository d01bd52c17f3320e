import type { Job, Queue } from "../cluster/cluster.js";
import { ClusterError } from "../cluster/error.js";
import type { Row } from "./client.js";
import type { Engine, Statement } from "./engine.js";
import type { Outbox } from "./outbox.js";
import { MAX_LIFE_MS, Renewal } from "./renewal.js";
import type { Names } from "./tables.js";
import { fromStored, toStored } from "./text.js";
import { Wake } from "./wakes.js";

/** Maximum time between two looks at the queue, in case that a notification is lost. */
const LOOK_MS = 5000;

/** Time after which a worker looks again when the server was away. */
const RETRY_MS = 200;

const DEFAULT_LEASE_MS = 30_000;

/** Jobs by a table. SKIP LOCKED serves to stamp `leased_until` only; no transaction is open while a job runs. */
export class PostgresQueue implements Queue {
  readonly #engine: Engine;
  readonly #outbox: Outbox;
  readonly #closed: AbortSignal;
  readonly #workers = new Set<Wake>();
  readonly #finding = new Set<Promise<unknown>>();
  readonly #running = new Set<Running>();
  readonly #statements: Readonly<Record<"add" | "take" | "next" | "renew" | "done" | "later", Statement>>;

  constructor(engine: Engine, { of }: Names, outbox: Outbox, closed: AbortSignal) {
    this.#engine = engine;
    this.#outbox = outbox;
    this.#closed = closed;
    const jobs = of("jobs");
    const after = (value: string) => `clock_timestamp() + ${value}::float8 * interval '1 millisecond'`;
    const own = "id = $1::text and token = $2::text and leased_until > clock_timestamp()";
    this.#statements = {
      add: {
        operation: "add a job",
        text: `insert into ${jobs} (id, job, leased_until) values ($1::text, $2::text, ${after("$3")})
          on conflict (id) do nothing returning id`,
      },
      take: {
        operation: "take a job",
        text: `update ${jobs} set token = $1::text, attempt = attempt + 1, leased_until = ${after("$2")}
          where id = (select id from ${jobs} where leased_until <= clock_timestamp() order by leased_until, id limit 1
            for update skip locked)
          returning id, job, attempt::text`,
      },
      next: {
        operation: "look for jobs",
        isRead: true,
        text: `select (extract(epoch from min(leased_until) - clock_timestamp()) * 1000)::text as ms from ${jobs}`,
      },
      renew: {
        operation: "renew a job",
        text: `update ${jobs} set leased_until = ${after("$3")} where ${own} returning id`,
      },
      done: { operation: "finish a job", text: `delete from ${jobs} where ${own} returning id` },
      later: {
        operation: "return a job",
        text: `update ${jobs} set token = null, leased_until = ${after("$3")} where ${own} returning id`,
      },
    };
  }

  async add(id: string, job: string, { delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<boolean> {
    const rows = await this.#engine.run(this.#statements.add, toStored(id), toStored(job), delayMs);
    if (rows.length > 0) this.#changed();
    return rows.length > 0;
  }

  /** Wakes the workers of this process. */
  wake(): void {
    for (const worker of this.#workers) worker.wake();
  }

  async *take(signal: AbortSignal, { leaseMs = DEFAULT_LEASE_MS }: { readonly leaseMs?: number } = {}) {
    const worker = new Wake();
    const ended = [signal, this.#closed];
    const isEnded = () => ended.some(({ aborted }) => aborted);
    this.#workers.add(worker);
    try {
      while (!isEnded()) {
        const finding = this.#find(Math.min(leaseMs, MAX_LIFE_MS));
        this.#finding.add(finding);
        const found = await finding.finally(() => this.#finding.delete(finding));
        if (typeof found === "number") await worker.wait(this.#engine.clock, found, ended);
        else if (isEnded()) await found.end().catch(() => {});
        else yield found.job;
      }
    } finally {
      this.#workers.delete(worker);
    }
  }

  /** Returns all jobs of this process to the queue. A job that cannot be returned becomes free with its lease. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#finding);
    await Promise.allSettled([...this.#running].map((running) => running.end()));
  }

  /** Takes a job. Returns the time until the next look if there is none. */
  async #find(leaseMs: number): Promise<Running | number> {
    const token = crypto.randomUUID();
    const askedAt = this.#engine.clock.now();
    try {
      const [row] = await this.#engine.run(this.#statements.take, token, leaseMs);
      if (row !== undefined) return this.#run(row, token, leaseMs, askedAt);
      const [next] = await this.#engine.run(this.#statements.next);
      return next?.ms == null ? LOOK_MS : Math.min(Math.max(Math.ceil(Number(next.ms)), 1), LOOK_MS);
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "refused") throw error;
      return RETRY_MS;
    }
  }

  #run(row: Row, token: string, leaseMs: number, askedAt: number): Running {
    const stored = row.id ?? "";
    const id = fromStored(stored);
    const run = (statement: Statement, ...more: number[]) => this.#engine.run(statement, stored, token, ...more);
    const renew = async () => (await run(this.#statements.renew, leaseMs)).length > 0;
    const renewal = new Renewal({ engine: this.#engine, ttlMs: leaseMs, askedAt, renew });
    const lost = () => new ClusterError("fenced", `Job ${id}: its lease is lost. Another worker may have it.`);
    let isDone = false;
    const settle = async (stop: () => void, statement: Statement, ...more: number[]) => {
      if (!renewal.isHeld) throw lost();
      const rows = await run(statement, ...more);
      stop();
      this.#running.delete(running);
      if (rows.length === 0) throw lost();
      isDone = statement === this.#statements.done;
      if (!isDone) this.#changed();
    };
    let ending: Promise<void> | undefined;
    const end = () => {
      ending ??= settle(() => {}, this.#statements.later, 0);
      renewal.lose();
      return ending;
    };
    const job: Job = {
      id,
      job: fromStored(row.job),
      attempt: Number(row.attempt),
      lost: renewal.lost,
      done: async () => {
        if (!isDone) await settle(() => renewal.stop(), this.#statements.done);
      },
      later: (delayMs) => settle(() => renewal.stop(), this.#statements.later, delayMs),
    };
    const running = { job, end };
    this.#running.add(running);
    renewal.lost.addEventListener("abort", () => this.#running.delete(running), { once: true });
    return running;
  }

  #changed(): void {
    this.wake();
    this.#outbox.nudgeQueue();
  }
}

interface Running {
  readonly job: Job;
  end(): Promise<void>;
}
