// The twin of `initialize.ts` of the legacy era: each tells a client what the server can do.

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
