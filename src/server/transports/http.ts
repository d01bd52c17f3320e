import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import { type HttpRefusal, refuse, refuseFailed } from "../../era/refuse.js";
import type { AcceptChannel, HttpBinding, HttpBindingOptions, OfferedEra } from "../../era/server-era.js";
import { BodiesFull, BodyFailure } from "../../http/body-failure.js";
import { allowOrigin } from "../../http/cors.js";
import type { HttpExchange } from "../../http/exchange.js";
import { createGuard } from "../../http/guard.js";
import { isJson } from "../../http/headers.js";
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from "../../protocol/jsonrpc/errors.js";
import { answerableId, type Parsed, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { isWellFormed, messageOf } from "../../protocol/text.js";
import type { HttpServerOptions } from "../options.js";
import { type EndpointRuntime, RequestAuthorizer } from "./authorize.js";
import { pickEraOfBody } from "./pick-era.js";

/**
 * HTTP endpoint of a server. Each exchange passes, in this order: documents of the gate, check of Host and Origin,
 * CORS, authorization, media type, body, parser, choice of era, scopes. The era's binding decodes the request, runs it,
 * and responds. No body is read before the client is authorized.
 *
 * | request | handled by |
 * | --- | --- |
 * | document of the gate | `gate.route` |
 * | CORS preflight | `allowOrigin` |
 * | path that belongs to an era (HTTP+SSE) | `binding.route` |
 * | POST of a request, notification, response or batch | `#onBody`, then `binding.serve` |
 * | GET, DELETE | `binding.serve` without a body |
 */
export class HttpEndpoint {
  readonly #runtime: EndpointRuntime;
  readonly #eras: readonly OfferedEra[];
  readonly #options: HttpBindingOptions;
  readonly #bindings = new Map<OfferedEra, MaybePromise<HttpBinding>>();
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #authorizer: RequestAuthorizer | undefined;
  /** Eras with their own HTTP paths. */
  readonly #pathOwners: readonly OfferedEra[];
  readonly #cors: boolean;
  readonly #maxBodyBytes: number;
  /** Value of the `Allow` header. */
  readonly #methods: string;
  readonly #notAllowed: HttpRefusal;
  /** Number of exchanges that wait for their era to load. */
  #waiting = 0;
  #closed = false;

  constructor(
    runtime: EndpointRuntime,
    eras: readonly OfferedEra[],
    options: HttpServerOptions,
    accept: AcceptChannel,
  ) {
    const { gate, cors } = options;
    this.#runtime = runtime;
    this.#eras = eras;
    this.#guard = createGuard(options);
    this.#authorizer = gate && new RequestAuthorizer(runtime, gate);
    this.#cors = cors === true;
    this.#maxBodyBytes = runtime.limits.maxBodyBytes;
    const admits = (exchange: HttpExchange, body: Parsed) => this.#admits(exchange, body);
    this.#options = { ...options, accept, admits };
    this.#pathOwners = eras.filter((era) => era.ownsPath !== undefined && options.sse !== undefined);
    this.#methods = ["POST", ...new Set(eras.flatMap((era) => era.httpMethods(options)))].join(", ");
    this.#notAllowed = {
      ...toRefusal(405, INVALID_REQUEST, `Method not allowed: use ${this.#methods}`),
      headers: { allow: this.#methods },
    };
  }

  /** Serves an exchange. Failures of the gate's decision, of the body and of an era are sent as responses. */
  serve(exchange: HttpExchange): void {
    exchange.stallMs = this.#runtime.limits.stallMs;
    if (this.#authorizer?.route(exchange)) return;
    const refusal = this.#guard(exchange);
    if (refusal !== undefined)
      return this.#refuse(exchange, toRefusal(refusal.status, INVALID_REQUEST, refusal.message));
    const allowed = this.#cors ? allowOrigin(exchange, this.#methods) : exchange;
    if (allowed === undefined) return;
    if (this.#authorizer === undefined) return this.#onAdmitted(allowed);
    this.#authorizer.authorize(allowed, (admitted) => this.#onAdmitted(admitted));
  }

  #onAdmitted(exchange: HttpExchange): void {
    const { principal } = exchange;
    if (principal !== undefined && !isWellFormed(principal)) return this.#refuse(exchange, ILL_NAMED);
    const late = this.#runtime.draining;
    if (this.#closed || (late && !mayServeRunning(exchange))) return this.#refuse(exchange, CLOSING);
    const owner = this.#pathOwners.find((era) => era.ownsPath?.(exchange.url, this.#options));
    if (owner !== undefined) return this.#serveBy(owner, exchange, undefined, (binding) => binding.route?.(exchange));
    if (exchange.method !== "POST") return this.#onBodiless(exchange);
    if (!isJson(exchange.header("content-type"))) return this.#refuse(exchange, NOT_JSON);
    const onText = (text: string) => this.#onBody(exchange, text, late);
    const onFailure = (error: unknown) => this.#onBodyFailure(exchange, error);
    const { bodies } = this.#runtime;
    if (exchange.read === undefined) exchange.text(this.#maxBodyBytes, bodies).then(onText, onFailure);
    else exchange.read(this.#maxBodyBytes, onText, onFailure, bodies);
  }

  #onBody(exchange: HttpExchange, text: string, late: boolean): void {
    const body = parseFrame(text);
    const isNew = body.kind === "request" || body.kind === "batch";
    if (this.#closed || (late && isNew)) return this.#refuse(exchange, CLOSING, body);
    if (body.kind === "invalid" && body.failure.code === PARSE_ERROR)
      return this.#refuse(exchange, toRefusal(400, PARSE_ERROR, body.failure.message));
    const era = pickEraOfBody(this.#eras, body, (name) => exchange.header(name));
    this.#serveBy(era, exchange, body, (binding) => {
      if (this.#admits(exchange, body)) binding.serve(exchange, body);
    });
  }

  /** True if the gate allows the operations of a body. Otherwise refuses the exchange. */
  #admits(exchange: HttpExchange, body: Parsed): boolean {
    return exchange.judge === undefined || this.#authorizer?.admits(exchange, body) !== false;
  }

  #onBodiless(exchange: HttpExchange): void {
    const era = this.#eras.find((era) => era.httpMethods(this.#options).includes(exchange.method));
    if (era === undefined) return this.#refuse(exchange, this.#notAllowed);
    this.#serveBy(era, exchange, undefined, (binding) => binding.serve(exchange, undefined));
  }

  /** Passes an exchange to the binding of its era. The first exchange of an era may wait until the era is loaded. */
  #serveBy(
    era: OfferedEra,
    exchange: HttpExchange,
    body: Parsed | undefined,
    serve: (binding: HttpBinding) => void,
  ): void {
    const onFailure = (error: unknown) => refuseFailed(exchange, this.#runtime, error, body && answerableId(body));
    try {
      const binding = this.#bindingOf(era);
      if (!(binding instanceof Promise)) return serve(binding);
      this.#waiting++;
      binding
        .finally(() => this.#waiting--)
        .then((binding) => (this.#closed ? this.#refuse(exchange, CLOSING, body) : serve(binding)))
        .catch(onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  #bindingOf(era: OfferedEra): MaybePromise<HttpBinding> {
    const known = this.#bindings.get(era);
    if (known !== undefined) return known;
    const loaded = andThen(era.load(), (era) => era.http(this.#runtime, this.#options));
    const bound = loaded instanceof Promise ? this.#bindLater(era, loaded) : loaded;
    this.#bindings.set(era, bound);
    return bound;
  }

  /** Waits for the binding of an era. The next exchange tries again after a failure. */
  async #bindLater(era: OfferedEra, loading: Promise<HttpBinding>): Promise<HttpBinding> {
    try {
      const binding = await loading;
      this.#bindings.set(era, binding);
      return binding;
    } catch (cause) {
      this.#bindings.delete(era);
      throw new Error(`Protocol versions ${era.versions.join(", ")} cannot be served: ${messageOf(cause)}`, { cause });
    }
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    await this.#eachBinding((binding) => binding.idle());
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const exchange of this.#authorizer?.stop() ?? []) this.#refuse(exchange, CLOSING);
    await this.#eachBinding((binding) => binding.close());
  }

  /** Counts sessions, streams and other resources in use, for `server.stats()`. */
  stats(): Readonly<Record<string, number>> {
    const stats: Record<string, number> = {};
    for (const era of this.#eras) {
      const binding = this.#bindings.get(era);
      if (binding !== undefined && !(binding instanceof Promise)) Object.assign(stats, binding.stats?.());
    }
    return { ...stats, loading: this.#waiting };
  }

  async #eachBinding(visit: (binding: HttpBinding) => void | Promise<void>): Promise<void> {
    await Promise.all(
      [...this.#bindings.values()].map(async (bound) => {
        // If the load fails there is no binding. The exchanges that waited for it get an error.
        const binding = await Promise.resolve(bound).catch(() => undefined);
        if (binding !== undefined) await visit(binding);
      }),
    );
  }

  #onBodyFailure(exchange: HttpExchange, error: unknown): void {
    if (!(error instanceof BodyFailure)) return refuseFailed(exchange, this.#runtime, error);
    if (error instanceof BodiesFull)
      return this.#refuse(exchange, this.#runtime.admission.refuse(503, "maxBodiesBytes", error.message).refusal);
    const { status, message } = error;
    if (status === undefined) return;
    const code = status === 400 ? PARSE_ERROR : status === 500 ? INTERNAL_ERROR : INVALID_REQUEST;
    this.#refuse(exchange, toRefusal(status, code, message));
  }

  #refuse(exchange: HttpExchange, refusal: HttpRefusal, body?: Parsed): void {
    refuse(exchange, this.#runtime, refusal, body?.kind === "request" ? body.message.id : undefined);
  }
}

/**
 * True if an exchange may belong to a running call: a response of the client, a cancellation, or the resumption of a
 * stream.
 */
function mayServeRunning(exchange: HttpExchange): boolean {
  return exchange.method === "POST" || (exchange.method === "GET" && exchange.header("last-event-id") !== undefined);
}

const toRefusal = (status: number, code: number, message: string): HttpRefusal => ({
  status,
  error: { code, message },
});

const CLOSING: HttpRefusal = {
  ...toRefusal(503, INTERNAL_ERROR, "The server is shutting down"),
  headers: { "retry-after": "1" },
};
/** Engines store text as UTF-8, in which all lone surrogates are equal. */
const ILL_NAMED = toRefusal(403, INVALID_REQUEST, "The name of the caller is not well-formed text (a lone surrogate)");
const NOT_JSON = toRefusal(415, INVALID_REQUEST, "Content-Type must be application/json");
