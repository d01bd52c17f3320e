import type { GateAdmission, HttpExchange, HttpHeaders, HttpStream } from "./exchange.js";

/** An exchange that knows more about its caller, or says more with its answer, than the one it stands for. */
export class DecoratedExchange implements HttpExchange {
  readonly auth: unknown;
  readonly principal: string | undefined;
  readonly endsAt: number | undefined;
  readonly judge: GateAdmission["judge"];
  readonly #inner: HttpExchange;
  readonly #headers: HttpHeaders | undefined;

  constructor(inner: HttpExchange, decoration: GateAdmission, endsAt?: number) {
    this.#inner = inner;
    this.#headers = decoration.headers;
    this.auth = decoration.auth ?? inner.auth;
    this.principal = decoration.principal ?? inner.principal;
    this.endsAt = endsAt;
    this.judge = decoration.judge;
  }

  get method(): string {
    return this.#inner.method;
  }

  get url(): string {
    return this.#inner.url;
  }

  get answered(): boolean {
    return this.#inner.answered;
  }

  header(name: string): string | undefined {
    return this.#inner.header(name);
  }

  text(limit: number): Promise<string> {
    return this.#inner.text(limit);
  }

  onGone(listener: () => void): void {
    this.#inner.onGone(listener);
  }

  reply(status: number, headers: HttpHeaders, body?: string): void {
    this.#inner.reply(status, this.#with(headers), body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return this.#inner.stream(status, this.#with(headers));
  }

  #with(headers: HttpHeaders): HttpHeaders {
    return this.#headers === undefined ? headers : { ...headers, ...this.#headers };
  }
}
