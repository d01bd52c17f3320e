import type { Call } from "../call.js";
import type { Result, ServerHost } from "../era.js";

export function discover(_call: Call, host: ServerHost): Result {
  const { versions, capabilities, instructions } = host;
  return {
    supportedVersions: versions,
    capabilities,
    ...(instructions === undefined ? undefined : { instructions }),
  };
}
