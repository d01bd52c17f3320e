import type { ClientHost, Connection } from "../../era/client-era.js";

/** The client as a connection sees it that another connection wraps: only its end is the wrapper's affair. */
export function innerHost(
  host: ClientHost,
  onClose: (reason: Error | undefined, connection: Connection) => void,
): ClientHost {
  return {
    info: host.info,
    extensions: host.extensions,
    deprecated: (deprecation) => host.deprecated?.(deprecation),
    get capabilities() {
      return host.capabilities;
    },
    identify: host.identify,
    clock: host.clock,
    timeoutMs: host.timeoutMs,
    answer: (method, params, end, progress) => host.answer(method, params, end, progress),
    relearnTools: (connection, scope) => host.relearnTools(connection, scope),
    onNotification: (notification) => host.onNotification(notification),
    onProblem: (problem) => host.onProblem(problem),
    debug: (message, fields) => host.debug(message, fields),
    onClose,
  };
}
