import type { Dialer } from "../client/connect.js";
import { createEraMemory } from "../client/negotiate.js";
import { legacyClient } from "../era/legacy/client/era.js";
import { modernClient } from "../era/modern/client/era.js";

/** Creates the parts of `connect` from those that depend on the platform. */
export function createDialer(platform: Pick<Dialer, "limits" | "send" | "spawn">): Dialer {
  return {
    eras: [modernClient, legacyClient],
    memory: createEraMemory(),
    validator: async () => (await import("../schema/json-schema/validator.js")).defaultValidator,
    ...platform,
  };
}
