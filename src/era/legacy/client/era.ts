import type { ClientEra } from "../../client-era.js";
import { HANDSHAKE_VERSIONS } from "../../versions.js";

/** What later versions have, and what to use here. */
const ADDED: ReadonlyMap<string, string> = new Map([
  ["server/discover", "the handshake told already what the server can do"],
  ["subscriptions/listen", "use watch"],
]);

/** The era of handshakes and sessions, as a client speaks it. */
export const legacyClient: ClientEra = {
  name: "legacy",
  versions: HANDSHAKE_VERSIONS,
  isCacheable: () => false,
  alwaysAsks: true,
  mayBeIgnored: false,
  declaresOnce: true,
  deprecates: false,
  isOfOldListing: () => false,
  pingMethod: "ping",
  replacements: ADDED,
  // What this era alone has, the other knows as removed.
  specifies: (method) => ADDED.has(method),
  // Loaded when a server needs it: a client that meets none of these versions does not pay for them.
  open: async (wire, runtime, options, lifetime) =>
    (await import("./connect.js")).open(legacyClient, wire, runtime, options, lifetime),
};
