import type { Implementation } from "../../protocol/types/index.js";
import type { Call, Result, ServerRuntime } from "../server-era.js";

/** The answer to the handshake, which the session has taken already when its request was read. */
export function initialize(call: Call, runtime: ServerRuntime): Result {
  const { version } = call.client;
  const { instructions } = runtime.options;
  return {
    protocolVersion: version,
    capabilities: capabilitiesAt(version, runtime.capabilities),
    serverInfo: identityAt(version, runtime.info),
    ...(instructions === undefined ? undefined : { instructions }),
  };
}

/** When capabilities came that are not as old as the first version. */
const CAPABILITIES_SINCE: readonly (readonly [name: string, version: string])[] = [
  ["completions", "2025-03-26"],
  ["elicitation", "2025-06-18"],
];

/** Capabilities without those that this version has no word for. What the SDK does not know is left alone. */
export function capabilitiesAt<Capabilities extends object>(version: string, capabilities: Capabilities): Capabilities {
  const unknown = CAPABILITIES_SINCE.filter(([name, since]) => version < since && name in capabilities);
  if (unknown.length === 0) return capabilities;
  return Object.fromEntries(
    Object.entries(capabilities).filter(([name]) => !unknown.some(([other]) => other === name)),
  ) as Capabilities;
}

/** An identity with only the members that this version knows. */
export function identityAt(version: string, info: Implementation): Implementation {
  if (version >= "2025-11-25") return info;
  const { name, title } = info;
  const known: Implementation = { name, version: info.version };
  if (version >= "2025-06-18" && title !== undefined) known.title = title;
  return known;
}
