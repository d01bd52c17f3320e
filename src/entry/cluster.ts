export type { Clock } from "../call/clock.js";
export type { MaybePromise } from "../call/maybe-promise.js";
export type {
  Bus,
  ChangingServer,
  Cluster,
  ClusterBuckets,
  IndexEntry,
  IndexPlace,
  Job,
  Lease,
  Leases,
  Listed,
  LocalChanges,
  LogEntry,
  LogOptions,
  Logs,
  PutOptions,
  Queue,
  Records,
  SharedChange,
  Stored,
  TakeOptions,
  Writer,
} from "../cluster/cluster.js";
export type { EngineCluster } from "../cluster/engine-cluster.js";
export { ClusterError, type ClusterFailure } from "../cluster/error.js";
export type { MemoryClusterLimits, MemoryClusterOptions } from "../cluster/memory/options.js";
export { memoryCluster } from "../cluster/memory/state.js";
export { type SealedClusterOptions, sealedCluster } from "../cluster/sealed.js";
export {
  type AuthStoreOptions,
  acceptProof,
  acceptState,
  authStore,
  cacheStore,
  issuerStore,
} from "../cluster/stores.js";
export type { McpError } from "../protocol/errors.js";
export type { RingKey } from "../protocol/key-ring.js";
