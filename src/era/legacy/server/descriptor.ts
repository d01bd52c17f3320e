// The modern era has no such file: only the legacy era is loaded on demand, so only it is described in advance.

import type { HttpBindingOptions, OfferedEra, SessionOptions } from "../../server-era.js";
import { isSsePath, resolveSsePaths } from "../../sse-paths.js";
import { HANDSHAKE_VERSIONS } from "../../versions.js";

const METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "sampling/createMessage",
  "elicitation/create",
  "roots/list",
]);

/** Description of the era before it is loaded. It claims every message, so it must be the last era that is asked. */
export const legacyDescriptor: Omit<OfferedEra, "load"> = {
  name: "legacy",
  versions: HANDSHAKE_VERSIONS,
  claims: () => true,
  specifies: (method: string) => METHODS.has(method),
  httpMethods: ({ sessions }: HttpBindingOptions) => methodsOf(sessions),
  ownsPath: (url: string, { sse }: HttpBindingOptions) =>
    sse !== undefined && sse !== false && isSsePath(url, resolveSsePaths(sse)),
};

/** Returns the HTTP methods other than POST that sessions need. */
export function methodsOf(sessions: SessionOptions = {}): readonly string[] {
  if (sessions === false) return [];
  const { clientMayListen, clientMayEnd } = sessions;
  return [...(clientMayListen === false ? [] : ["GET"]), ...(clientMayEnd === false ? [] : ["DELETE"])];
}
