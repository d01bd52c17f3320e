// The stateless era has no twin: there the exchange itself is the origin of its call.
import type { HttpExchange } from "../../../http/exchange.js";
import type { CallOrigin } from "../../server-era.js";

/** A request of a session: what the exchange knows, and whose session it is. */
export class SessionOrigin implements CallOrigin {
  readonly #exchange: HttpExchange;

  constructor(
    exchange: HttpExchange,
    readonly sessionId: string | undefined,
  ) {
    this.#exchange = exchange;
  }

  get auth(): unknown {
    return this.#exchange.auth;
  }

  get principal(): string | undefined {
    return this.#exchange.principal;
  }

  get endsAt(): number | undefined {
    return this.#exchange.endsAt;
  }

  get judge(): CallOrigin["judge"] {
    return this.#exchange.judge;
  }

  get url(): string {
    return this.#exchange.url;
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }
}
