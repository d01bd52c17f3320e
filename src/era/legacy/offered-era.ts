import type { OfferedEra } from "../era.js";
import { legacyFacts } from "./facts.js";
import { LateBinding } from "./late-binding.js";

/** The era of handshakes and sessions. What speaking it takes is loaded when a client does. */
export const offeredLegacy: OfferedEra = {
  ...legacyFacts,
  http: (host, options) => new LateBinding(offeredLegacy, host, options),
  load: async () => (await import("./server-era.js")).legacyServer,
};
