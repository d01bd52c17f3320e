import type { Client } from "./client.js";
import type { ClientCore } from "./runtime.js";
import { refreshLists } from "./subscriptions/list-refresh.js";

type Upkeep = Pick<Client, "setLogLevel" | "tools" | "prompts" | "resources">;

/** Sets the log level and watches the lists after connecting, if the options say so. Reports failures. */
export async function startUpkeep(client: Upkeep, core: ClientCore): Promise<void> {
  const { logLevel, onListChanged, signal } = core.options;
  const { heard, capabilities } = core.calls.connected().server;
  // A server whose capabilities are unknown may send log messages.
  const logs = capabilities.logging !== undefined || !heard;
  if (logLevel !== undefined && logs) await client.setLogLevel(logLevel, { signal }).catch(core.onProblem);
  if (onListChanged === undefined) return;
  await refreshLists(onListChanged, {
    clock: core.clock,
    waits: core.waits,
    listening: core.listening,
    capabilities,
    read: (kind) => client[kind]({ cache: "refresh" }).all(),
    begin: (filter, events) => core.listen(filter, events, { signal }),
    listen: (filter, events, limits) => core.listen(filter, events, limits),
    missed: (changes) => core.missed(changes),
    onProblem: core.onProblem,
  }).catch(core.onProblem);
}

/** Warns of deprecated features that the client uses from its beginning. */
export function warnOfDeprecatedUse(core: ClientCore): void {
  const { capabilities, options } = core;
  if (capabilities.roots !== undefined) core.uses("roots");
  if (capabilities.sampling !== undefined) core.uses("sampling");
  if (options.notifications?.["notifications/message"] !== undefined) core.uses("logging");
}
