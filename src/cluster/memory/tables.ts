import { MemoryBuckets } from "../../call/buckets.js";
import { systemClock } from "../../call/clock.js";
import { TopicTable } from "./bus.js";
import { Expiries } from "./expiries.js";
import { LeaseTable } from "./leases.js";
import { LogTable } from "./log-table.js";
import { limitsOf, type MemoryClusterOptions } from "./options.js";
import { JobTable } from "./queue.js";
import { RecordTable } from "./records.js";

/** Parts of the state that the nodes of a process share. */
export interface Tables {
  readonly expiries: Expiries;
  readonly records: RecordTable;
  readonly logs: LogTable;
  readonly topics: TopicTable;
  readonly leases: LeaseTable;
  readonly jobs: JobTable;
  readonly buckets: MemoryBuckets;
}

export function createTables(options: MemoryClusterOptions): Tables {
  const limits = limitsOf(options);
  const { clock = systemClock } = options;
  const expiries = new Expiries(clock);
  return {
    expiries,
    records: new RecordTable(expiries, limits.maxRecords, limits.maxRecordedChars),
    logs: new LogTable(expiries, limits.maxLogs, limits.maxLoggedChars),
    topics: new TopicTable(),
    leases: new LeaseTable(expiries, limits.maxLeases),
    jobs: new JobTable(expiries, limits.maxJobs),
    buckets: new MemoryBuckets({ maxKeys: limits.maxBuckets, clock }),
  };
}
