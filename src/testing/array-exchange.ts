import type { AuthInfo } from "../http/auth-info.js";
import { BodyTooLarge } from "../http/body-failure.js";
import { BODILESS, type HttpExchange, type HttpHeaders, type HttpStream, toBodyText } from "../http/exchange.js";
import { assertOptions, type Known } from "../protocol/known-options.js";

/** Request of an exchange in memory. */
export interface ArrayExchangeInit {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Headers by lower-case name. `host` defaults to `localhost`; `host: undefined` leaves it out. */
  readonly headers?: { readonly [name: string]: string | undefined } | undefined;
  /** String, or a value to be sent as JSON. */
  readonly body?: unknown;
  readonly auth?: AuthInfo | undefined;
  readonly principal?: string | undefined;
  /** Address of the caller, by which callers without a principal are told apart. */
  readonly remote?: string | undefined;
}

const OPTIONS: Known<ArrayExchangeInit> = {
  method: "string",
  url: "string",
  headers: "object",
  body: "any",
  auth: "any",
  principal: "string",
  remote: "string",
};

/** Exchange in memory that exposes the response. */
export interface ArrayExchange extends HttpExchange {
  /** Status of the response; undefined until the response begins. */
  readonly status: number | undefined;
  /** Headers of the response, as passed to `reply` or `stream`. */
  readonly headers: HttpHeaders;
  /** Parts of the response body, one per write. */
  readonly chunks: string[];
  /** Returns the response body so far. */
  body(): string;
  /** Resolves when the response is complete or the client has disconnected. */
  readonly done: Promise<void>;
  /** Simulates a client that disconnects. */
  disconnect(): void;
  /** Simulates a client that stops reading: writes return false until `resume` is called. */
  pause(): void;
  resume(): void;
}

/**
 * Creates an exchange for tests. The response is collected in an array. Without `init` the request is a POST to /mcp.
 */
export function createArrayExchange(init: ArrayExchangeInit = {}): ArrayExchange {
  assertOptions({ createArrayExchange }, init, OPTIONS);
  return new MemoryExchange(init);
}

class MemoryExchange implements ArrayExchange {
  readonly method: string;
  readonly url: string;
  readonly auth: AuthInfo | undefined;
  readonly principal: string | undefined;
  readonly remote: string | undefined;
  readonly chunks: string[] = [];
  readonly done: Promise<void>;
  status: number | undefined;
  headers: HttpHeaders = {};

  readonly #requestHeaders: { readonly [name: string]: string | undefined };
  readonly #requestBody: string;
  #finish!: () => void;
  #state: "open" | "answering" | "complete" | "gone" = "open";
  #paused = false;
  #goneListeners: Array<() => void> = [];
  #drainListeners: Array<() => void> = [];

  constructor(init: ArrayExchangeInit) {
    this.method = init.method ?? "POST";
    this.url = init.url ?? "/mcp";
    this.auth = init.auth;
    this.principal = init.principal;
    this.remote = init.remote;
    this.#requestHeaders = { host: "localhost", ...init.headers };
    this.#requestBody = init.body === undefined ? "" : toBodyText(init.body);
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get answered(): boolean {
    return this.#state !== "open";
  }

  header(name: string): string | undefined {
    return this.#requestHeaders[name];
  }

  async text(limit: number): Promise<string> {
    if (new TextEncoder().encode(this.#requestBody).byteLength > limit) throw new BodyTooLarge(limit);
    return this.#requestBody;
  }

  onGone(listener: () => void): void {
    if (this.#state === "gone") queueMicrotask(listener);
    else if (this.#state !== "complete") this.#goneListeners.push(listener);
  }

  reply(status: number, headers: HttpHeaders, body?: string): void {
    if (!this.#begin(status, headers)) return;
    if (body !== undefined && !BODILESS.has(status)) this.chunks.push(body);
    this.#complete();
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    this.#begin(status, headers);
    return {
      write: (text) => this.#write(text),
      onDrain: (listener) => this.#onDrain(listener),
      end: () => this.#complete(),
      destroy: () => this.#complete(),
    };
  }

  body(): string {
    return this.chunks.join("");
  }

  disconnect(): void {
    if (this.#state === "complete" || this.#state === "gone") return;
    this.#state = "gone";
    this.#release();
    const listeners = this.#goneListeners;
    this.#goneListeners = [];
    for (const listener of listeners) listener();
    this.#finish();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#release();
  }

  /**
   * Returns false if the client has disconnected. Throws on a second response, which is a mistake in the code under
   * test.
   */
  #begin(status: number, headers: HttpHeaders): boolean {
    if (this.#state === "gone") return false;
    if (this.#state !== "open")
      throw new Error(`The exchange was answered twice: with status ${this.status}, then with ${status}`);
    this.#state = "answering";
    this.status = status;
    this.headers = headers;
    return true;
  }

  #write(text: string): boolean {
    if (this.#state !== "answering") return true;
    this.chunks.push(text);
    return !this.#paused;
  }

  #onDrain(listener: () => void): void {
    if (this.#paused && this.#state === "answering") this.#drainListeners.push(listener);
    else queueMicrotask(listener);
  }

  #complete(): void {
    if (this.#state !== "answering") return;
    this.#state = "complete";
    this.#goneListeners = [];
    this.#release();
    this.#finish();
  }

  #release(): void {
    const listeners = this.#drainListeners;
    this.#drainListeners = [];
    for (const listener of listeners) listener();
  }
}
