// Modern has no twin: only this era is loaded late, so only this one is described beforehand.

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

/** Describes the era before a client speaks it. It takes whatever no other era claims, so it stands last. */
export const legacyDescriptor: Omit<OfferedEra, "load"> = {
  name: "legacy",
  versions: HANDSHAKE_VERSIONS,
  claims: () => true,
  specifies: (method: string) => METHODS.has(method),
  httpMethods: ({ sessions }: HttpBindingOptions) => methodsOf(sessions),
  ownsPath: (url: string, { sse }: HttpBindingOptions) =>
    sse !== undefined && sse !== false && isSsePath(url, resolveSsePaths(sse)),
  noStats: { sessions: 0, streams: 0, running: 0 },
};

/** Lists the methods other than POST that sessions need. */
export function methodsOf(sessions: SessionOptions = {}): readonly string[] {
  if (sessions === false) return [];
  const { clientMayListen, clientMayEnd } = sessions;
  return [...(clientMayListen === false ? [] : ["GET"]), ...(clientMayEnd === false ? [] : ["DELETE"])];
}
