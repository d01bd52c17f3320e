import { EngineQueue, type StoredJob } from "../cluster/engine/queue.js";
import type { Change, Document, Documents } from "./documents.js";
import type { Mirror } from "./mirror.js";
import { lastName } from "./names.js";

/** Index of jobs. The score is the time at which a job can be taken: the end of its delay, or of its lease. */
const JOBS = "jobs";

/** Number of jobs that a worker tries to take in one look. Other workers may be faster. */
const TRIES = 16;

/** Jobs: documents that are taken in the order of an index. */
export function natsQueue(documents: Documents, mirror: Mirror, closed: AbortSignal): EngineQueue {
  const { engine } = documents;
  const { time } = engine;
  const subjectOf = (id: string) => engine.names.listedSubject("job", id);
  const metaOf = (ms: number, attempt: number, token?: string) => ({
    index: [[JOBS, ms, true] as const],
    attempt,
    ...(token === undefined ? {} : { token }),
  });

  const take = (subject: string, token: string, leaseMs: number) =>
    documents.change<StoredJob | undefined>("take a job", subject, (found) => {
      if (found === undefined || dueOf(found) > time.now()) return { result: () => undefined };
      const attempt = Number(found.meta.attempt) + 1;
      const job = { id: lastName(subject), job: found.text, attempt };
      return { meta: metaOf(leaseMs, attempt, token), text: found.text, result: () => job };
    });

  /** Changes a job that the token has. Resolves with false if it was lost. */
  const changeOwn = (what: string, id: string, token: string, change: (found: Document) => Change<boolean>) =>
    documents.change(what, subjectOf(id), (found) => {
      const isOwn = found?.meta.token === token && dueOf(found) > time.now();
      return isOwn ? change(found) : { result: () => false };
    });
  const giveBack = (ms: number, token?: string) => (found: Document) => ({
    meta: metaOf(ms, Number(found.meta.attempt), token),
    text: found.text,
    result: () => true,
  });

  const operations = {
    add: async (id: string, job: string, delayMs: number) =>
      (await documents.add("add a job", subjectOf(id), metaOf(delayMs, 0), job)) !== undefined,
    async take(token: string, leaseMs: number) {
      // Taking proves nothing about jobs that have not arrived here. Their arrival wakes the workers again.
      await engine.tried("take a job");
      const [first] = mirror.look(JOBS, undefined, 1);
      if (first === undefined) return undefined;
      for (const { subject, score } of mirror.look(JOBS, undefined, TRIES)) {
        if (score > time.now()) break;
        const job = await take(subject, token, leaseMs);
        if (job !== undefined) return [job];
      }
      return Math.max(1, first.score - time.now());
    },
    renew: async (id: string, token: string, leaseMs: number) =>
      changeOwn("renew a job", id, token, giveBack(leaseMs, token)),
    done: async (id: string, token: string) =>
      changeOwn("finish a job", id, token, () => ({ meta: { gone: true }, result: () => true })),
    later: async (id: string, token: string, delayMs: number) =>
      changeOwn("return a job", id, token, giveBack(delayMs)),
    changed: () => {},
  };
  return new EngineQueue(engine.clock, operations, closed);
}

/** Returns the time at which a job can be taken. */
function dueOf({ time, meta }: Document): number {
  return time + Number(meta.index?.[0]?.[1] ?? 0);
}
