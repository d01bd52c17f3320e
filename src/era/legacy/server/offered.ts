import type { OfferedEra } from "../../server-era.js";
import { legacyFacts } from "./descriptor.js";
import { LateBinding } from "./lazy-binding.js";

/** The era of handshakes and sessions. What speaking it takes is loaded when a client does. */
export const offeredLegacy: OfferedEra = {
  ...legacyFacts,
  http: (host, options) => new LateBinding(offeredLegacy, host, options),
  load: async () => (await import("./era.js")).legacyServer,
};
