import { type Cluster, ClusterError, type ClusterFailure } from "bowline/cluster";
import { replaceParts } from "./nodes-world.js";

/**
 * Parts of a cluster that store nothing while `refusal` returns a failure, as those of an engine without room. Reads,
 * messages and the renewal of leases go on.
 */
export function withoutRoom(
  { records, logs, leases, queue }: Cluster,
  refusal: (text: string) => ClusterFailure | undefined,
): Partial<Cluster> {
  const check = (text = "") => {
    const failure = refusal(text);
    if (failure !== undefined) throw new ClusterError(failure, "the engine has no room");
  };
  return {
    records: replaceParts(records, {
      put: async (key, value, options) => {
        check(value);
        return records.put(key, value, options);
      },
    }),
    logs: replaceParts(logs, {
      create: async (log, options) => {
        check();
        await logs.create(log, options);
      },
      claim: async (log, stream) => {
        check();
        const writer = await logs.claim(log, stream);
        return {
          append: async (seq, data, options) => {
            check(data);
            return writer.append(seq, data, options);
          },
          wrote: (id) => writer.wrote(id),
        };
      },
    }),
    leases: replaceParts(leases, {
      acquire: async (name, ttlMs) => {
        check();
        return leases.acquire(name, ttlMs);
      },
    }),
    queue: replaceParts(queue, {
      add: async (id, job, options) => {
        check(job);
        return queue.add(id, job, options);
      },
    }),
  };
}
