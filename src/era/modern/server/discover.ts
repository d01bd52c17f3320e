// Counterpart of `initialize.ts` in the legacy era: both describe the server to a client.

import type { Call, Result, ServerRuntime } from "../../server-era.js";

export function discover(_call: Call, runtime: ServerRuntime): Result {
  const { versions, capabilities } = runtime;
  if (runtime.options.capabilities?.logging === true) runtime.uses?.("logging");
  const { instructions } = runtime.options;
  return {
    supportedVersions: versions,
    capabilities,
    ...(instructions === undefined ? undefined : { instructions }),
  };
}
