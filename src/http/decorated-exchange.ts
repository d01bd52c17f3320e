import type { AuthInfo } from "./auth-info.js";
import type { GateAdmission, HttpExchange, HttpHeaders, HttpStream } from "./exchange.js";
import type { RequestBodies } from "./request-bodies.js";

/**
 * Exchange that forwards to another one. `auth` and `principal` can be replaced. The optional members of the other
 * exchange (`read`, `endsAt`, `judge`) are not forwarded.
 */
export class ForwardingExchange implements HttpExchange {
  readonly #inner: HttpExchange;
  readonly auth: AuthInfo | undefined;
  readonly principal: string | undefined;

  constructor(inner: HttpExchange, { auth, principal }: Pick<HttpExchange, "auth" | "principal"> = inner) {
    this.#inner = inner;
    this.auth = auth ?? inner.auth;
    this.principal = principal ?? inner.principal;
  }

  get method(): string {
    return this.#inner.method;
  }

  get url(): string {
    return this.#inner.url;
  }

  get remote(): string | undefined {
    return this.#inner.remote;
  }

  get answered(): boolean {
    return this.#inner.answered;
  }

  header(name: string): string | undefined {
    return this.#inner.header(name);
  }

  text(limit: number, bodies?: RequestBodies): Promise<string> {
    return this.#inner.text(limit, bodies);
  }

  onGone(listener: () => void): void {
    this.#inner.onGone(listener);
  }

  reply(status: number, headers: HttpHeaders, body?: string): void {
    this.#inner.reply(status, headers, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return this.#inner.stream(status, headers);
  }
}

/** Exchange with information about its caller, or with additional response headers. */
export class DecoratedExchange extends ForwardingExchange {
  readonly endsAt: number | undefined;
  readonly judge: GateAdmission["judge"];
  readonly #headers: HttpHeaders | undefined;

  constructor(inner: HttpExchange, decoration: GateAdmission, endsAt?: number) {
    super(inner, decoration);
    this.#headers = decoration.headers;
    this.endsAt = endsAt;
    this.judge = decoration.judge;
  }

  override reply(status: number, headers: HttpHeaders, body?: string): void {
    super.reply(status, this.#with(headers), body);
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    return super.stream(status, this.#with(headers));
  }

  #with(headers: HttpHeaders): HttpHeaders {
    return this.#headers === undefined ? headers : { ...headers, ...this.#headers };
  }
}
