import type { PingOptions } from "../../call/ping-loop.js";
import type {
  ClientEra,
  ClientHost,
  Connection,
  PriorKnowledge,
  SavedSession,
  ServerFacts,
} from "../../era/client-era.js";

/** What a connection that another one wraps tells of itself, whichever it is at the moment. */
export abstract class WrappedConnection {
  protected connection!: Connection;
  /** How its successors are to be pinged too. */
  protected pings: PingOptions | undefined;

  get era(): ClientEra {
    return this.connection.era;
  }

  get server(): ServerFacts {
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
    if (this.pings !== undefined) connection.keepPinging?.(this.pings);
  }
}

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
