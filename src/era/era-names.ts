import type { EraName } from "./versions.js";

/** Names of the eras, newest first. */
export const ERA_NAMES = ["modern", "legacy"] as const satisfies readonly EraName[];
