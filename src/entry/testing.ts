export { createChannelPair } from "../jsonrpc/memory-channel.js";
export { createArrayExchange } from "../testing/array-exchange.js";
export { FakeClock } from "../testing/fake-clock.js";
export {
  type RecordedExchange,
  type RecordedFrame,
  type RecordedMessage,
  WireRecorder,
} from "../testing/wire-recorder.js";
