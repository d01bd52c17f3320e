import { fromErrorObject } from "../../../protocol/jsonrpc/errors.js";
import type { ClientEra } from "../../client-era.js";
import { HANDSHAKE_VERSIONS } from "../../versions.js";

/** Methods of later versions, with their replacement in this era. */
const ADDED: ReadonlyMap<string, string> = new Map([
  ["server/discover", "the handshake has returned the capabilities of the server"],
  ["subscriptions/listen", "use watch"],
]);

/** Legacy era on the client: handshakes and sessions. */
export const legacyClient: ClientEra = {
  name: "legacy",
  versions: HANDSHAKE_VERSIONS,
  isCacheable: () => false,
  alwaysAsks: true,
  mayBeIgnored: false,
  declaresOnce: true,
  deprecates: false,
  toError: fromErrorObject,
  isOfOldListing: () => false,
  pingMethod: "ping",
  replacements: ADDED,
  // The modern era specifies the methods of this era too: the common ones, and the others as removed.
  specifies: (method) => ADDED.has(method),
  // Loaded on first use, so that clients of modern servers do not load it.
  open: async (wire, runtime, options, lifetime) =>
    (await import("./connect.js")).open(legacyClient, wire, runtime, options, lifetime),
};
