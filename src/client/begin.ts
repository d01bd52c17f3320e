import { toError } from "../schema/errors.js";
import type { AnyServer, Client } from "./client.js";
import type { ClientCore } from "./client-core.js";

/** Starts what the options ask for once there is a connection. What cannot be started is reported. */
export async function begin(client: Client<AnyServer>, core: ClientCore): Promise<void> {
  const connection = core.connected();
  const { logLevel, onListChanged } = core.options;
  const { heard, capabilities } = connection.server;
  // A server that was not asked what it can do may log.
  const logs = capabilities.logging !== undefined || !heard;
  const report = (error: unknown) => core.onProblem(toError(error));
  if (logLevel !== undefined && logs) await client.setLogLevel(logLevel).catch(report);
  if (onListChanged === undefined) return;
  const { refreshLists } = await import("./list-refresh.js");
  await refreshLists(onListChanged, {
    clock: core.clock,
    capabilities,
    read: (kind) => client[kind]({ cache: "refresh" }).all(),
    watch: (filter, events) =>
      core.inScope("subscriptions/listen", {}, (scope) => core.connected().watch(filter, events, scope)),
    onProblem: (problem) => core.onProblem(problem),
  }).catch(report);
}
