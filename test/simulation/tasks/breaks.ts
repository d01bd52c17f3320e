import type { Cluster, Job, Lease, PutOptions, Queue, Records } from "#src/cluster/cluster.js";
import { ClusterError } from "#src/cluster/error.js";
import type { TaskRecord } from "#src/tasks/server/record.js";
import { replaceParts } from "../../support/nodes-world.js";
import type { Break } from "../engine/breaks.js";

/** Returns the cluster of a node as its tasks see it: without one of the safeguards of tasks, if it is broken. */
export function withoutSafeguard(cluster: Cluster, broken: Break | undefined): Cluster {
  if (broken === "lease") return replaceParts(cluster, withoutLeases(cluster));
  if (broken === "journal") return replaceParts(cluster, { records: withoutSteps(cluster.records) });
  if (broken === "requeue") return replaceParts(cluster, { queue: withFirstJobs(cluster.queue) });
  return cluster;
}

/** Signal that never aborts. */
const never = () => new AbortController().signal;
const isTask = (key: string) => key.startsWith("task:");

/** Workers do not learn that their lease is lost, and their writes replace those of later runs. */
function withoutLeases({ records, leases, queue }: Cluster): Partial<Cluster> {
  return {
    records: replaceParts(records, { put: (key, value, options) => putUnfenced(records, key, value, options) }),
    leases: {
      acquire: async (name, ttlMs) => {
        const lease = await leases.acquire(name, ttlMs);
        return lease && replaceParts<Lease>(lease, { lost: never() });
      },
    },
    queue: replaceParts(queue, {
      take: async function* (signal, options) {
        for await (const job of queue.take(signal, options)) yield withoutLoss(job);
      },
    }),
  };
}

function withoutLoss(job: Job): Job {
  const ignore = (error: unknown) => {
    if (!(error instanceof ClusterError && error.failure === "fenced")) throw error;
  };
  return replaceParts<Job>(job, {
    lost: never(),
    done: async () => Promise.resolve(job.done()).catch(ignore),
    later: async (delayMs) => Promise.resolve(job.later(delayMs)).catch(ignore),
  });
}

async function putUnfenced(records: Records, key: string, value: string, options: PutOptions = {}) {
  const version = await records.put(key, value, options);
  if (version !== undefined || !isTask(key)) return version;
  const stored = await records.get(key);
  const isOfLater = stored !== undefined && fenceOf(stored.value) > fenceOf(value);
  const { ifVersion: _ifVersion, ...rest } = options;
  return isOfLater ? records.put(key, value, rest) : undefined;
}

const fenceOf = (value: string) => (JSON.parse(value) as TaskRecord).fence;

/** Steps that are done are not recorded. */
function withoutSteps(records: Records): Records {
  return replaceParts(records, {
    put: (key, value, options) => {
      if (!isTask(key)) return records.put(key, value, options);
      const record = JSON.parse(value) as TaskRecord;
      return records.put(key, JSON.stringify({ ...record, journal: { ...record.journal, steps: {} } }), options);
    },
  });
}

/** Tasks get the job of their first round only: none after an answer. */
function withFirstJobs(queue: Queue): Queue {
  return replaceParts(queue, {
    add: async (id, job, options) => (id.endsWith(":1") ? queue.add(id, job, options) : true),
  });
}
