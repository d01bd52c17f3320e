export type { Clock } from "../call/clock.js";
export type { MaybePromise } from "../call/maybe-promise.js";
export type {
  Bus,
  ChangingServer,
  Cluster,
  ClusterBuckets,
  EngineCluster,
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
export { ClusterError, type ClusterFailure } from "../cluster/error.js";
export type { MemoryClusterLimits, MemoryClusterOptions } from "../cluster/memory/limits.js";
export { memoryCluster } from "../cluster/memory/state.js";
export type {
  AppendResult,
  ClaimedStream,
  DueRecord,
  LogPlace,
  OpenStream,
  Store,
  StoredEntry,
  StoreEntry,
  StoreEvents,
  StoreLogLimits,
  StoreLogs,
  StorePut,
  StreamPage,
  TakeDue,
  TakenTokens,
} from "../cluster/store.js";
export { OPEN_PAGE, takenBy } from "../cluster/store.js";
export { type StoreClusterOptions, storeCluster } from "../cluster/store-cluster.js";
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
