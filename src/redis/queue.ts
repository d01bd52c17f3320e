import type { Job, Queue, TakeOptions } from "../cluster/cluster.js";
import { eachJob, JobsAtOnce } from "../cluster/engine/jobs-at-once.js";
import { ClusterError } from "../cluster/error.js";
import { LeaseDoubts } from "../cluster/lease-doubts.js";
import { Bell } from "./bell.js";
import type { Channels } from "./channels.js";
import type { Engine } from "./engine.js";
import { Held } from "./held.js";
import { durationOf, type Script, script } from "./scripts.js";

/**
 * Jobs are in one slot: `jobs` has the text, `tries` the attempts and `owners` the token of the worker of a job. `due`
 * orders the ids by the time at which a worker may take them. A job that is taken is due again when its lease ends.
 */
const KEYS = `local jobs, tries, owners, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
`;
const ADD = script(
  "add a job",
  `${KEYS}
  if redis.call('HSETNX', jobs, ARGV[1], ARGV[2]) == 0 then return 0 end
  redis.call('ZADD', due, text(now() + ARGV[3]), ARGV[1])
  redis.call('PUBLISH', ARGV[4], '')
  return 1`,
);
/** ARGV: token, lease, number of jobs. Returns jobs, or the time until the next one is due, or nothing. */
const TAKE = script(
  "take jobs",
  `${KEYS}
  local t = now()
  local first = redis.call('ZRANGE', due, 0, ARGV[3] - 1, 'WITHSCORES')
  if not first[1] then return {} end
  if tonumber(first[2]) > t then return {text(first[2] - t)} end
  local taken = {}
  for at = 1, #first, 2 do
    local id = first[at]
    if tonumber(first[at + 1]) > t then break end
    redis.call('ZADD', due, text(t + ARGV[2]), id)
    redis.call('HSET', owners, id, ARGV[1])
    taken[#taken + 1] = id
    taken[#taken + 1] = redis.call('HGET', jobs, id) or ''
    taken[#taken + 1] = text(redis.call('HINCRBY', tries, id, 1))
  end
  return taken`,
);
const RENEW = script(
  "renew a job",
  `${KEYS}
  if redis.call('HGET', owners, ARGV[1]) ~= ARGV[2] then return 0 end
  redis.call('ZADD', due, 'XX', text(now() + ARGV[3]), ARGV[1])
  return 1`,
);
const DONE = script(
  "finish a job",
  `${KEYS}
  if redis.call('HGET', owners, ARGV[1]) ~= ARGV[2] then return 0 end
  redis.call('ZREM', due, ARGV[1])
  redis.call('HDEL', jobs, ARGV[1])
  redis.call('HDEL', tries, ARGV[1])
  redis.call('HDEL', owners, ARGV[1])
  return 1`,
);
const LATER = script(
  "return a job",
  `${KEYS}
  if redis.call('HGET', owners, ARGV[1]) ~= ARGV[2] then return 0 end
  redis.call('HDEL', owners, ARGV[1])
  redis.call('ZADD', due, 'XX', text(now() + ARGV[3]), ARGV[1])
  redis.call('PUBLISH', ARGV[4], '')
  return 1`,
);
/** ARGV: token, channel. Returns all jobs of a token to the queue. */
const FREE = script(
  "return jobs",
  `${KEYS}
  local owned, freed = redis.call('HGETALL', owners), 0
  for at = 1, #owned, 2 do
    if owned[at + 1] == ARGV[1] then
      redis.call('HDEL', owners, owned[at])
      redis.call('ZADD', due, 'XX', text(now()), owned[at])
      freed = 1
    end
  end
  if freed == 1 then redis.call('PUBLISH', ARGV[2], '') end
  return freed`,
);

const LEASE_MS = 30_000;
/** Maximum time between two looks at the queue. */
const LOOK_MS = 30_000;
/** Delay before the queue is looked at again after the engine was away. */
const RETRY_MS = 500;

export class RedisQueue implements Queue {
  static readonly scripts: readonly Script[] = [ADD, TAKE, RENEW, DONE, LATER, FREE];
  readonly #engine: Engine;
  readonly #channels: Channels;
  readonly #keys: readonly string[];
  readonly #channel: string;
  readonly #held = new Map<Held, () => Promise<unknown>>();
  readonly #doubts: LeaseDoubts;

  constructor(engine: Engine, channels: Channels) {
    this.#engine = engine;
    this.#channels = channels;
    this.#keys = ["", "tries", "owners", "due"].map((part) => engine.keys.key("queue", "jobs", part));
    this.#channel = engine.keys.channel("queue", "jobs");
    const release = async (_: string, token: string) =>
      (await engine.run(FREE, this.#keys, [token, this.#channel])) === 1;
    this.#doubts = new LeaseDoubts({ clock: engine.clock, release });
  }

  async add(id: string, job: string, { delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<boolean> {
    return (await this.#engine.run(ADD, this.#keys, [id, job, delayOf(delayMs), this.#channel])) === 1;
  }

  async *take(signal: AbortSignal, { leaseMs = LEASE_MS, most }: TakeOptions = {}): AsyncGenerator<Job> {
    const { clock, closing } = this.#engine;
    const bell = new Bell(clock, [signal, closing]);
    const listening = this.#channels.listen(this.#channel, () => bell.ring());
    // Jobs may have been added before the channel was heard.
    listening.ready.then(() => bell.ring());
    const unfollow = this.#channels.onMissed(() => bell.ring());
    const atOnce = new JobsAtOnce(most);
    try {
      while (!bell.isEnded) {
        const found = await this.#next(leaseMs, atOnce.ask());
        atOnce.found(typeof found === "number" ? 0 : found.length);
        if (typeof found === "number") await bell.wait(found);
        else
          yield* eachJob(
            found,
            () => bell.isEnded,
            ({ giveBack }) => giveBack(),
          );
      }
    } finally {
      unfollow();
      listening.stop();
      bell.end();
    }
  }

  /** Loses all jobs and returns them to the queue. */
  async close(): Promise<void> {
    this.#doubts.close();
    const all = [...this.#held];
    for (const [held] of all) held.lose("the cluster is closed");
    await Promise.all(all.map(([, free]) => free()));
  }

  /** Takes jobs, or returns the time until the queue must be looked at again. */
  async #next(leaseMs: number, most: number): Promise<readonly Taken[] | number> {
    const engine = this.#engine;
    const token = engine.token();
    const since = engine.clock.now();
    let reply: readonly string[];
    try {
      reply = (await engine.run(TAKE, this.#keys, [token, durationOf(leaseMs), most])) as readonly string[];
    } catch (error) {
      if (error instanceof ClusterError && error.failure === "refused") throw error;
      this.#doubts.note(error, token, token, leaseMs);
      return RETRY_MS;
    }
    if (reply.length === 0) return LOOK_MS;
    if (reply.length === 1) return Math.min(Number(reply[0]) + 1, LOOK_MS);
    const jobs: Taken[] = [];
    for (let at = 0; at + 2 < reply.length; at += 3) {
      const [id = "", job = "", attempt] = reply.slice(at, at + 3);
      jobs.push(this.#hold({ id, job, attempt: Number(attempt) }, token, leaseMs, since));
    }
    return jobs;
  }

  #hold(taken: Pick<Job, "id" | "job" | "attempt">, token: string, ttlMs: number, since: number): Taken {
    const { id } = taken;
    const engine = this.#engine;
    const args = [id, token];
    const renew = async () => (await engine.run(RENEW, this.#keys, [...args, durationOf(ttlMs)])) === 1;
    const held = new Held({ clock: engine.clock, name: `job ${JSON.stringify(id)}`, ttlMs, since, renew });
    this.#held.set(held, () => engine.runAtEnd(LATER, this.#keys, [...args, 0, this.#channel]).catch(() => {}));
    held.lost.addEventListener("abort", () => this.#held.delete(held), { once: true });
    const end: JobEnd = { id, held, given: undefined, isUnsure: false };
    const later = (delayMs: number) => this.#give(end, LATER, [...args, delayOf(delayMs), this.#channel]);
    return {
      job: { ...taken, lost: held.lost, done: () => this.#give(end, DONE, args), later },
      // A job that cannot be given back becomes free with its lease.
      giveBack: () => later(0).catch(() => void held.lose("it could not be given back")),
    };
  }

  /** Gives a job back to the engine by `done` or `later`. A repeated `done` does nothing. */
  async #give(end: JobEnd, how: Script, args: readonly string[]): Promise<void> {
    if (end.given === DONE && how === DONE) return;
    if (end.given !== undefined || end.held.lost.aborted) throw lostJob(end.id);
    let isOwner: boolean;
    try {
      isOwner = (await this.#engine.run(how, this.#keys, args)) === 1;
    } catch (error) {
      end.isUnsure ||= error instanceof ClusterError && error.failure === "unknown_outcome";
      throw error;
    }
    // After an unknown outcome, a job of another owner, or of none, shows that the first attempt was carried out.
    if (!isOwner && !end.isUnsure) {
      end.held.lose("another worker may have it");
      throw lostJob(end.id);
    }
    end.given = how;
    this.#held.delete(end.held);
    end.held.stop();
  }
}

/** Job with the function that gives it back unused. */
interface Taken {
  readonly job: Job;
  giveBack(): Promise<void>;
}

/** Progress of giving a job back. */
interface JobEnd {
  readonly id: string;
  readonly held: Held;
  /** Script that gave the job back. */
  given: Script | undefined;
  isUnsure: boolean;
}

/** A delay of 0 is allowed here, unlike as a life. */
function delayOf(ms: number): string {
  return ms <= 0 ? "0" : durationOf(ms);
}

function lostJob(id: string): ClusterError {
  return new ClusterError(
    "fenced",
    `job ${JSON.stringify(id)}: this worker has it no more, and another one may have it`,
  );
}
