import type { Implementation } from "../../schema/types.js";
import type { Call } from "../call.js";
import type { Result, ServerHost } from "../era.js";

/** The answer to the handshake, which the session has taken already when its request was read. */
export function initialize(call: Call, host: ServerHost): Result {
  const { version } = call.client;
  return {
    protocolVersion: version,
    capabilities: host.capabilities,
    serverInfo: identityAt(version, host.info),
    ...(host.instructions === undefined ? undefined : { instructions: host.instructions }),
  };
}

/** An identity with only the members that this version knows. */
export function identityAt(version: string, info: Implementation): Implementation {
  if (version >= "2025-11-25") return info;
  const { name, title } = info;
  const known: Implementation = { name, version: info.version };
  if (version >= "2025-06-18" && title !== undefined) known.title = title;
  return known;
}
