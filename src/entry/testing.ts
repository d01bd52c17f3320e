export { createChannelPair } from "../jsonrpc/memory-channel.js";
export { createArrayExchange } from "../testing/array-exchange.js";
export { FakeClock } from "../testing/fake-clock.js";
