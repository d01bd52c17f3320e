import type { IndexPlace, LogOptions, PutOptions } from "../cluster.js";
import type { MemoryLease } from "../memory/leases.js";
import type { MemoryNode } from "../memory/node.js";
import type { MemoryJob } from "../memory/queue.js";

/** Maximum number of tokens that are taken at once. */
const MAX_TOKENS = 1_000;

/** Operations of a process on the state of its host. Arguments and results pass through JSON. */
export type HostOperations = ReturnType<typeof hostOperations>;

/** Creates the operations of one node. `tell` passes on the messages of a topic. */
export function hostOperations(node: MemoryNode, tell: (topic: string, text: string, from: string) => void) {
  return { ...recordsOf(node), ...logsOf(node), ...topicsOf(node, tell), ...leasesOf(node), ...jobsOf(node) };
}

function recordsOf({ records }: MemoryNode) {
  return {
    get: (key: string) => records.get(key),
    put: (key: string, value: string, options: PutOptions) => records.put(key, value, options),
    touch: (key: string, ttlMs: number) => records.touch(key, ttlMs),
    delete: (key: string, ifVersion?: string | null) => records.delete(key, ifVersion ?? undefined),
    list: (index: string, options: { readonly after?: IndexPlace; readonly limit: number }) =>
      records.list(index, options),
    count: (index: string) => records.count(index),
  };
}

function logsOf({ logs }: MemoryNode) {
  return {
    create: (log: string, options: LogOptions) => logs.create(log, options),
    /** Returns the number of the claim. */
    claim: (log: string, stream: string) => logs.claim(log, stream).claim,
    append: (log: string, stream: string, claim: number, seq: number, data: string, last: boolean) =>
      logs.writer(log, stream, claim).append(seq, data, { last }),
    find: (log: string, id: string) => logs.find(log, id),
    readAfter: (log: string, stream: string, id?: string | null) => logs.readAfter(log, stream, id ?? undefined),
    drop: (log: string) => logs.drop(log),
  };
}

function topicsOf({ bus }: MemoryNode, tell: (topic: string, text: string, from: string) => void) {
  const topics = new Map<string, { count: number; leave(): void }>();
  return {
    publish: (topic: string, text: string) => bus.publish(topic, text),
    subscribe: (topic: string) => {
      const found = topics.get(topic);
      if (found !== undefined) found.count++;
      else topics.set(topic, { count: 1, leave: bus.subscribe(topic, (text, from) => tell(topic, text, from)) });
    },
    unsubscribe: (topic: string) => {
      const found = topics.get(topic);
      if (found === undefined || --found.count > 0) return;
      topics.delete(topic);
      found.leave();
    },
  };
}

/** Leases and jobs by the tokens of their holders. Each has a life, which its holder extends. */
class Rights<Right extends MemoryLease | MemoryJob> {
  readonly #held = new Map<string, Right>();

  add(token: string, right: Right | undefined, ttlMs: number): Right | undefined {
    if (right === undefined) return undefined;
    right.renew(ttlMs);
    this.#held.set(token, right);
    right.lost.addEventListener("abort", () => this.#held.delete(token), { once: true });
    return right;
  }

  renew(token: string, ttlMs: number): boolean {
    return this.#held.get(token)?.renew(ttlMs) === true;
  }

  /** Ends a right. Returns false if it is lost. */
  end(token: string, end: (right: Right) => void): boolean {
    const right = this.#held.get(token);
    this.#held.delete(token);
    if (right === undefined) return false;
    end(right);
    return true;
  }
}

function leasesOf({ leases, buckets }: MemoryNode) {
  const rights = new Rights<MemoryLease>();
  const release = (_name: string, token: string) => rights.end(token, (lease) => lease.release());
  return {
    acquire: (name: string, token: string, ttlMs: number, doubtful: string) => {
      release(name, doubtful);
      return rights.add(token, leases.acquire(name, ttlMs), ttlMs) !== undefined;
    },
    renew: (_name: string, token: string, ttlMs: number) => rights.renew(token, ttlMs),
    release,
    takeTokens: (key: string, burst: number, refillMs: number, want: number) => {
      for (let given = 0; ; given++) {
        const { ok, retryInMs } = given < Math.min(want, MAX_TOKENS) ? buckets.take(key, { burst, refillMs }) : FULL;
        if (!ok) return { given, retryInMs };
      }
    },
  };
}

const FULL = { ok: false, retryInMs: 0 };

function jobsOf({ queue }: MemoryNode) {
  const rights = new Rights<MemoryJob>();
  const giveBack = (token: string, delayMs: number) => rights.end(token, (job) => job.later(delayMs));
  return {
    addJob: (id: string, job: string, delayMs: number) => queue.add(id, job, { delayMs }),
    takeJob: (token: string, leaseMs: number) => {
      const taken = rights.add(token, queue.takeNow(leaseMs), leaseMs);
      return taken && { id: taken.id, job: taken.job, attempt: taken.attempt };
    },
    renewJob: (_id: string, token: string, leaseMs: number) => rights.renew(token, leaseMs),
    finishJob: (_id: string, token: string) => rights.end(token, (job) => job.done()),
    returnJob: (_id: string, token: string, delayMs: number) => giveBack(token, delayMs),
    freeJob: (token: string) => giveBack(token, 0),
  };
}
