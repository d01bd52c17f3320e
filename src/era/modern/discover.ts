import type { Call, Result, ServerHost } from "../era.js";

export function discover(call: Call, host: ServerHost): Result {
  host.meet?.(call.client.capabilities);
  const { versions, capabilities, instructions } = host;
  return {
    supportedVersions: versions,
    capabilities,
    ...(instructions === undefined ? undefined : { instructions }),
  };
}
