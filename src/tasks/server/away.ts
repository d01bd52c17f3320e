import type { Clock } from "../../call/clock.js";
import { untilReached } from "../../cluster/until-reached.js";
import { isStateAway } from "../../protocol/errors.js";
import type { ExtensionHost } from "../../server/extensions/extension.js";

/**
 * Serves a request about tasks. While the engine is away, refuses it for now. A request that was carried out nevertheless
 * may be sent again, since its repetition has no further effect.
 */
export async function refusedWhileAway<T>(
  host: Pick<ExtensionHost, "report" | "busy">,
  serve: () => Promise<T>,
): Promise<T> {
  try {
    return await serve();
  } catch (error) {
    if (!isStateAway(error)) throw error;
    host.report(error, { where: "tasks" });
    throw host.busy(503, "cluster", "The state of tasks is not available");
  }
}

/** Does work, again while the engine is away. Resolves with false if the signal aborts, or too much time passes, before it is done. */
export async function doneAfterAway(
  clock: Clock,
  work: () => Promise<void>,
  signal: () => AbortSignal,
): Promise<boolean> {
  try {
    await untilReached({ clock, signal }, work);
    return true;
  } catch (error) {
    if (!isStateAway(error)) throw error;
    return false;
  }
}
