import { toError } from "../protocol/errors.js";
import type { Client } from "./client.js";
import type { ClientCore } from "./runtime.js";

type Upkeep = Pick<Client, "setLogLevel" | "tools" | "prompts" | "resources">;

/** Starts what the options ask for once there is a connection. What cannot be started is reported. */
export async function begin(client: Upkeep, core: ClientCore): Promise<void> {
  const connection = core.connected();
  const { logLevel, onListChanged, signal } = core.options;
  const { heard, capabilities } = connection.server;
  // A server that was not asked what it can do may log.
  const logs = capabilities.logging !== undefined || !heard;
  const report = (error: unknown) => core.onProblem(toError(error));
  if (logLevel !== undefined && logs) await client.setLogLevel(logLevel, { signal }).catch(report);
  if (onListChanged === undefined) return;
  const { refreshLists } = await import("./subscriptions/list-refresh.js");
  await refreshLists(onListChanged, {
    clock: core.clock,
    listening: core.listening,
    capabilities,
    read: (kind) => client[kind]({ cache: "refresh" }).all(),
    begin: (filter, events) => core.listen(filter, events, { signal }),
    listen: (filter, events, limits) => core.listen(filter, events, limits),
    missed: (changes) => core.missed(changes),
    onProblem: (problem) => core.onProblem(problem),
  }).catch(report);
}
