import type { OfferedEra } from "../../server-era.js";
import { legacyDescriptor } from "./descriptor.js";
import { LateBinding } from "./lazy-binding.js";

/** The era of handshakes and sessions. What speaking it takes is loaded when a client does. */
export const offeredLegacy: OfferedEra = {
  ...legacyDescriptor,
  http: (runtime, options) => new LateBinding(offeredLegacy, runtime, options),
  load: async () => (await import("./era.js")).legacyServer,
};
