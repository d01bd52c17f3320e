import { lazyModule } from "../../call/lazy.js";
import { andThen, attempt, type MaybePromise } from "../../call/maybe-promise.js";
import { refuseFailed } from "../../era/refuse.js";
import { type AcceptChannel, type HttpBinding, type OfferedEra, pickEra } from "../../era/server-era.js";
import { BodyFailure, type HttpExchange, type HttpHeaders, JSON_HEADERS } from "../../http/exchange.js";
import type { HttpGate } from "../../http/gate.js";
import { createGuard } from "../../http/guard.js";
import { isJson } from "../../http/media-type.js";
import { DefinitionError, ProtocolError } from "../../protocol/errors.js";
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from "../../protocol/jsonrpc/errors.js";
import { formatFailure } from "../../protocol/jsonrpc/format.js";
import type { RequestId } from "../../protocol/jsonrpc/message.js";
import { classifyCall, type Parsed, parseText } from "../../protocol/jsonrpc/parse.js";
import { DEFAULTS, type HttpServerOptions } from "../options.js";
import type { EndpointRuntime, RequestAuthorizer } from "./authorize.js";
import { messageOf } from "./era-of-request.js";

/** What lets web pages of other origins in, loaded with the first that comes. */
const crossing = lazyModule(() => import("../../http/cors.js"));

/** What reads responses, loaded with the first that a client posts. */
const responses = lazyModule(() => import("../../protocol/jsonrpc/parse.js"));

/**
 * What every HTTP exchange passes before an era takes it, cheapest first: the guard, cross-origin rules, the author's
 * gate, the media type, the size, the parser, and the choice of era.
 */
export class HttpEndpoint {
  readonly #runtime: EndpointRuntime;
  readonly #eras: readonly OfferedEra[];
  /** One for each era, in the same order. */
  readonly #bindings: readonly HttpBinding[];
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #gate: HttpGate | undefined;
  /** What stands at a gate is loaded where there is one. */
  readonly #keeper: () => MaybePromise<RequestAuthorizer>;
  readonly #cors: boolean;
  readonly #maxBodyBytes: number;
  readonly #allowed: string;
  /** Those that the gate has not decided about yet. */
  readonly #undecided = new Set<HttpExchange>();
  #closing = false;

  constructor(
    runtime: EndpointRuntime,
    eras: readonly OfferedEra[],
    options: HttpServerOptions,
    accept?: AcceptChannel,
  ) {
    const { gate, cors, maxBodyBytes = DEFAULTS.maxBodyBytes } = options;
    if (!(maxBodyBytes > 0)) throw new DefinitionError("http.maxBodyBytes must be positive");
    this.#runtime = runtime;
    this.#eras = eras;
    this.#guard = createGuard(options);
    this.#gate = gate;
    for (const warning of gate?.warnings ?? []) runtime.warn(warning);
    this.#keeper = lazyModule(async () => {
      const { RequestAuthorizer } = await import("./authorize.js");
      const admit = (exchange: HttpExchange) => this.#admit(exchange);
      return new RequestAuthorizer(runtime, gate ?? (() => ({})), maxBodyBytes, this.#undecided, admit);
    });
    this.#cors = cors === true;
    this.#maxBodyBytes = maxBodyBytes;
    this.#bindings = eras.map((era) => era.http(runtime, { ...options, maxBodyBytes, accept, admits: this.#admits }));
    this.#allowed = ["POST", ...new Set(this.#bindings.flatMap(({ methods }) => methods))].join(", ");
  }

  /** Answers one exchange. Never throws: what goes wrong is answered and reported. */
  serve(exchange: HttpExchange): void {
    if (this.#gate?.route?.(exchange) === true) return;
    const refusal = this.#guard(exchange);
    if (refusal !== undefined) return this.#fail(exchange, refusal.status, INVALID_REQUEST, refusal.message);
    const origin = this.#cors ? exchange.header("origin") : undefined;
    if (origin === undefined) return this.#check(exchange);
    this.#run(exchange, crossing, ({ allowOrigin }) => {
      const allowed = allowOrigin(exchange, origin, this.#allowed);
      if (allowed !== undefined) this.#check(allowed);
    });
  }

  /** Refuses what is new from here on. */
  beginClosing(): void {
    this.#closing = true;
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    await Promise.all(this.#bindings.map((binding) => binding.idle()));
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const exchange of this.#undecided) this.#failClosing(exchange);
    this.#undecided.clear();
    await Promise.all(this.#bindings.map((binding) => binding.close()));
  }

  /** What is being held, for tests and gauges. */
  stats(): Readonly<Record<string, number>> {
    return Object.assign({}, ...this.#bindings.map((binding) => binding.stats?.()));
  }

  /** Asks the author's gate, if there is one, who is calling. */
  #check(exchange: HttpExchange): void {
    if (this.#gate === undefined) return this.#admit(exchange);
    this.#undecided.add(exchange);
    this.#run(exchange, this.#keeper, (keeper) => keeper.check(exchange));
  }

  /** Goes on with a part once it is there. */
  #run<Part>(exchange: HttpExchange, load: () => MaybePromise<Part>, run: (part: Part) => void): void {
    attempt(
      () => andThen(load(), run),
      () => {},
      (error) => {
        this.#undecided.delete(exchange);
        refuseFailed(exchange, this.#runtime, error);
      },
    );
  }

  /** Whether the gate, where there is one that cares, lets the caller do this; answers where it does not. */
  readonly #admits = (exchange: HttpExchange, body: Parsed): boolean => {
    const keeper = exchange.judge === undefined ? undefined : this.#keeper();
    return keeper === undefined || (!(keeper instanceof Promise) && keeper.admits(exchange, body));
  };

  #admit(exchange: HttpExchange): void {
    if (this.#closing) return this.#failClosing(exchange);
    if (exchange.judge !== undefined && this.#keeper() instanceof Promise)
      return this.#run(exchange, this.#keeper, () => this.#admit(exchange));
    for (const binding of this.#bindings) if (binding.route?.(exchange) === true) return;
    if (exchange.method !== "POST") return this.#serveBodiless(exchange);
    if (!isJson(exchange.header("content-type"))) return this.#fail(exchange, 415, INVALID_REQUEST, NOT_JSON);
    const onText = (text: string) => this.#read(exchange, text);
    const onFailure = (error: unknown) => this.#onBodyFailure(exchange, error);
    if (exchange.read === undefined) exchange.text(this.#maxBodyBytes).then(onText, onFailure);
    else exchange.read(this.#maxBodyBytes, onText, onFailure);
  }

  #read(exchange: HttpExchange, text: string): void {
    const body = parseText(text, classifyCall);
    if (body !== undefined) return this.#servePost(exchange, body);
    this.#run(exchange, responses, ({ parseFrame }) => this.#servePost(exchange, parseFrame(text)));
  }

  #servePost(exchange: HttpExchange, body: Parsed): void {
    if (this.#closing) return this.#failClosing(exchange, body.kind === "request" ? body.message.id : undefined);
    if (body.kind === "invalid" && body.failure.code === PARSE_ERROR) {
      return this.#fail(exchange, 400, PARSE_ERROR, body.failure.message);
    }
    const era = pickEra(this.#eras, messageOf(body), (name) => exchange.header(name));
    this.#serveBy(this.#bindings[this.#eras.indexOf(era)] as HttpBinding, exchange, body);
  }

  #serveBy(binding: HttpBinding, exchange: HttpExchange, body: Parsed | undefined): void {
    try {
      if (body === undefined || this.#admits(exchange, body)) binding.serve(exchange, body);
    } catch (error) {
      refuseFailed(exchange, this.#runtime, error);
    }
  }

  #serveBodiless(exchange: HttpExchange): void {
    const binding = this.#bindings.find(({ methods }) => methods.includes(exchange.method));
    if (binding !== undefined) return this.#serveBy(binding, exchange, undefined);
    this.#fail(exchange, 405, INVALID_REQUEST, "Method not allowed", undefined, { allow: this.#allowed });
  }

  #onBodyFailure(exchange: HttpExchange, error: unknown): void {
    if (!(error instanceof BodyFailure)) return refuseFailed(exchange, this.#runtime, error);
    const { status, message } = error;
    if (status === undefined) return;
    const code = status === 400 ? PARSE_ERROR : status === 500 ? INTERNAL_ERROR : INVALID_REQUEST;
    this.#fail(exchange, status, code, message);
  }

  #failClosing(exchange: HttpExchange, id?: RequestId): void {
    this.#fail(exchange, 503, INTERNAL_ERROR, "The server is shutting down", id);
  }

  #fail(
    exchange: HttpExchange,
    status: number,
    code: number,
    message: string,
    id?: RequestId,
    headers?: HttpHeaders,
  ): void {
    exchange.reply(status, { ...JSON_HEADERS, ...headers }, formatFailure(id, { code, message }));
    this.#runtime.report(new ProtocolError(`${exchange.method} refused with ${status}: ${message}`), { where: "http" });
  }
}

const NOT_JSON = "Unsupported media type: Content-Type must be application/json";
