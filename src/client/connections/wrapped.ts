import type { PingOptions } from "../../call/ping-options.js";
import type {
  ClientEra,
  ClientResult,
  ClientRuntime,
  Connection,
  PriorKnowledge,
  SavedSession,
  ServerDescription,
} from "../../era/client-era.js";
import type { Problem } from "../../protocol/json.js";

/** Base of connections that wrap another connection and may replace it. */
export abstract class WrappedConnection {
  protected connection!: Connection;
  /** Ping options, also for the next connections. */
  protected pings: PingOptions | undefined;

  get era(): ClientEra {
    return this.connection.era;
  }

  get server(): ServerDescription {
    return this.connection.server;
  }

  get prior(): PriorKnowledge {
    return this.connection.prior;
  }

  get mirrorsHeaders(): boolean {
    return this.connection.mirrorsHeaders;
  }

  get session(): SavedSession | undefined {
    return this.connection.session;
  }

  problemOf(method: string, result: ClientResult): Problem | undefined {
    return this.connection.problemOf?.(method, result);
  }

  keepPinging(options: PingOptions): void {
    this.pings = options;
    this.connection.keepPinging?.(options);
  }

  protected replaceBy(connection: Connection): void {
    this.connection = connection;
    if (this.pings !== undefined) this.keepPinging(this.pings);
  }
}

/** Returns the runtime for a wrapped connection. Only its end is handled by the wrapper. */
export function innerRuntime(
  runtime: ClientRuntime,
  onClose: (reason: Error | undefined, connection: Connection) => void,
): ClientRuntime {
  return {
    info: runtime.info,
    extensions: runtime.extensions,
    deprecated: (deprecation) => runtime.deprecated?.(deprecation),
    get capabilities() {
      return runtime.capabilities;
    },
    identify: runtime.identify,
    clock: runtime.clock,
    timeoutMs: runtime.timeoutMs,
    limits: runtime.limits,
    answer: (method, params, end, progress) => runtime.answer(method, params, end, progress),
    relearnTools: (connection, lifetime) => runtime.relearnTools(connection, lifetime),
    onNotification: (notification) => runtime.onNotification(notification),
    onProblem: (problem) => runtime.onProblem(problem),
    debug: (message, fields) => runtime.debug(message, fields),
    onClose,
  };
}
