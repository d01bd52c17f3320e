import type { ServerCapabilities } from "../../../protocol/types/index.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { capabilitiesAt, identityAt } from "../initialize.js";
import { LegacySession } from "./session.js";

/** Returns the result of `initialize`. The session has recorded the handshake when it decoded the request. */
export function initialize(call: Call, runtime: ServerRuntime): Result {
  const { version } = call.client;
  const { capabilities, info, options } = runtime;
  const { instructions } = options;
  return {
    protocolVersion: version,
    capabilities: capabilitiesAt(version, LegacySession.of(call).mute ? withoutChanges(capabilities) : capabilities),
    serverInfo: identityAt(version, info),
    ...(instructions === undefined ? undefined : { instructions }),
  };
}

/** Returns the capabilities of a session that cannot send changes. */
function withoutChanges(capabilities: ServerCapabilities): ServerCapabilities {
  const { tools, prompts, resources } = capabilities;
  return {
    ...capabilities,
    ...(tools && { tools: { ...tools, listChanged: false } }),
    ...(prompts && { prompts: { ...prompts, listChanged: false } }),
    ...(resources && { resources: { ...resources, listChanged: false, subscribe: false } }),
  };
}
