import type { PingOptions } from "../../call/ping-loop.js";
import type { ClientEra, Connection, PriorKnowledge, SavedSession, ServerFacts } from "../../era/client-era.js";

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
