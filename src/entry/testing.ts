export type { Clock } from "../call/clock.js";
export type { Cluster } from "../cluster/cluster.js";
export type { MemoryClusterLimits, MemoryClusterOptions } from "../cluster/memory/limits.js";
export { createMemoryState, type MemoryState } from "../cluster/memory/state.js";
export type { HttpExchange } from "../http/exchange.js";
export type { Channel } from "../protocol/jsonrpc/channel.js";
export { createChannelPair } from "../protocol/jsonrpc/memory-channel.js";
export { type ArrayExchange, type ArrayExchangeInit, createArrayExchange } from "../testing/array-exchange.js";
export {
  engineContract,
  type StoreContractOptions,
  storeContract,
} from "../testing/contract/store-contract.js";
export type { Engine, Open, Register, Scope, World } from "../testing/contract/world.js";
export { FakeClock, type Timer } from "../testing/fake-clock.js";
export {
  type Direction,
  type Fate,
  type FaultOptions,
  type Faults,
  type FaultyChannel,
  withFaults,
} from "../testing/faults.js";
export {
  type RecordedExchange,
  type RecordedFrame,
  type RecordedMessage,
  WireRecorder,
} from "../testing/wire-recorder.js";
