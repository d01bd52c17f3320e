import type { Call, Result, ServerHost } from "../../server-era.js";

export function discover(call: Call, host: ServerHost): Result {
  host.meet?.(call.client.capabilities);
  const { versions, capabilities } = host;
  const { instructions } = host.options;
  return {
    supportedVersions: versions,
    capabilities,
    ...(instructions === undefined ? undefined : { instructions }),
  };
}
