import type { PingOptions } from "../../call/ping-loop.js";
import type {
  ClientEra,
  ClientRuntime,
  Connection,
  PriorKnowledge,
  SavedSession,
  ServerDescription,
} from "../../era/client-era.js";

/** What a connection that another one wraps tells of itself, whichever it is at the moment. */
export abstract class WrappedConnection {
  protected connection!: Connection;
  /** How its successors are to be pinged too. */
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

  keepPinging(options: PingOptions): void {
    this.pings = options;
    this.connection.keepPinging?.(options);
  }

  protected replaceBy(connection: Connection): void {
    this.connection = connection;
    if (this.pings !== undefined) this.keepPinging(this.pings);
  }
}

/** The client as a connection sees it that another connection wraps: only its end is the wrapper's affair. */
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
