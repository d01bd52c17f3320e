import type { AuthPlatform } from "../auth/client/settings.js";
import { HANDSHAKE_VERSIONS } from "../era/versions.js";
import type { Fetch } from "../http/client/send.js";

/** Creates the parts of authorization that depend on the platform. */
export function createPlatform(fetch: Fetch, guardedFetch = fetch): AuthPlatform {
  // Older authorization servers expect the protocol version.
  return { fetch, guardedFetch, discoveryHeaders: { "mcp-protocol-version": HANDSHAKE_VERSIONS[0] } };
}
