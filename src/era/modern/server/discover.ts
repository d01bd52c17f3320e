// Counterpart of `initialize.ts` in the legacy era: both describe the server to a client.

import type { Call, Result, ServerRuntime } from "../../server-era.js";

export function discover(call: Call, runtime: ServerRuntime): Result {
  runtime.meet?.(call.client.capabilities);
  const { versions, capabilities } = runtime;
  const { instructions } = runtime.options;
  return {
    supportedVersions: versions,
    capabilities,
    ...(instructions === undefined ? undefined : { instructions }),
  };
}
