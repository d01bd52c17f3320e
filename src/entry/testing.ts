export { createChannelPair } from "../protocol/jsonrpc/memory-channel.js";
export { createArrayExchange } from "../testing/array-exchange.js";
export { FakeClock } from "../testing/fake-clock.js";
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
