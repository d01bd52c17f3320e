import { type AcceptChannel, type HttpBinding, type OfferedEra, pickEra } from "../era/era.js";
import { refuseFailed } from "../era/refuse-failed.js";
import {
  BodyIncomplete,
  BodyNotText,
  BodyTaken,
  BodyTooLarge,
  type HttpExchange,
  JSON_HEADERS,
} from "../http/exchange.js";
import type { HttpGate } from "../http/gate.js";
import { createGuard } from "../http/guard.js";
import { isJson } from "../http/media-type.js";
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from "../jsonrpc/error-codes.js";
import { formatFailure } from "../jsonrpc/format.js";
import type { RequestId } from "../jsonrpc/message.js";
import { type Parsed, parseFrame } from "../jsonrpc/parse.js";
import { DefinitionError, ProtocolError } from "../schema/errors.js";
import { late } from "../schema/late.js";
import { messageOf } from "./era-of-request.js";
import type { FrontHost, GateKeeper } from "./gate-keeper.js";
import { DEFAULTS, type HttpServerOptions } from "./options.js";

type Crossing = typeof import("../http/cors.js");

/** What lets web pages of other origins in, loaded with the first that comes. */
const crossing = late(() => import("../http/cors.js"));

/**
 * What every HTTP exchange passes before an era takes it, cheapest first: the guard, cross-origin rules, the author's
 * gate, the media type, the size, the parser, and the choice of era.
 */
export class HttpFront {
  readonly #host: FrontHost;
  readonly #eras: readonly OfferedEra[];
  readonly #bindings = new Map<OfferedEra, HttpBinding>();
  /** Those that serve paths of their own. */
  readonly #routed: readonly HttpBinding[];
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #gate: HttpGate | undefined;
  #keeper: GateKeeper | undefined;
  readonly #cors: boolean;
  readonly #maxBodyBytes: number;
  readonly #allowed: string;
  /** Those that the gate has not decided about yet. */
  readonly #undecided = new Set<HttpExchange>();
  #closing = false;

  constructor(host: FrontHost, eras: readonly OfferedEra[], options: HttpServerOptions, accept?: AcceptChannel) {
    const sessions = options.sessions ?? {};
    this.#host = host;
    this.#eras = eras;
    this.#guard = createGuard(options);
    this.#gate = options.gate;
    for (const warning of options.gate?.warnings ?? []) host.warn(warning);
    this.#cors = options.cors === true;
    this.#maxBodyBytes = options.maxBodyBytes ?? DEFAULTS.maxBodyBytes;
    if (!(this.#maxBodyBytes > 0)) throw new DefinitionError("http.maxBodyBytes must be positive");
    for (const era of eras) {
      const binding = era.http(host, {
        sessions: {
          idleMs: DEFAULTS.sessionIdleMs,
          max: DEFAULTS.maxSessions,
          ...sessions,
          enabled: sessions !== false,
        },
        preferJson: options.preferJson ?? false,
        responseMode: options.responseMode,
        keepAliveMs: options.keepAliveMs ?? DEFAULTS.keepAliveMs,
        eventLog: options.resumable,
        retryMs: options.retryMs,
        maxBehind: options.maxBehind ?? DEFAULTS.maxBehind,
        maxBodyBytes: this.#maxBodyBytes,
        sse: options.sse,
        accept,
        admits: this.#admits,
      });
      this.#bindings.set(era, binding);
    }
    this.#routed = [...this.#bindings.values()].filter((binding) => binding.route !== undefined);
    this.#allowed = ["POST", ...new Set([...this.#bindings.values()].flatMap((binding) => binding.methods))].join(", ");
  }

  /** Answers one exchange. Never throws: what goes wrong is answered and reported. */
  serve(exchange: HttpExchange): void {
    if (this.#gate?.route?.(exchange) === true) return;
    const refusal = this.#guard(exchange);
    if (refusal !== undefined) return this.#fail(exchange, refusal.status, INVALID_REQUEST, refusal.message);
    const origin = this.#cors ? exchange.header("origin") : undefined;
    if (origin === undefined) return this.#check(exchange);
    const allow = crossing();
    if (!(allow instanceof Promise)) return this.#cross(exchange, origin, allow);
    allow.then((loaded) => this.#cross(exchange, origin, loaded)).catch(this.#failed(exchange));
  }

  #cross(exchange: HttpExchange, origin: string, { allowOrigin }: Crossing): void {
    const allowed = allowOrigin(exchange, origin, this.#allowed);
    if (allowed !== undefined) this.#check(allowed);
  }

  /** Refuses what is new from here on. */
  beginClosing(): void {
    this.#closing = true;
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    await Promise.all([...this.#bindings.values()].map((binding) => binding.idle()));
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const exchange of this.#undecided) this.#failClosing(exchange);
    this.#undecided.clear();
    await Promise.all([...this.#bindings.values()].map((binding) => binding.close()));
  }

  /** What is being held, for tests and gauges. */
  stats(): Readonly<Record<string, number>> {
    return Object.assign({}, ...[...this.#bindings.values()].map((binding) => binding.stats?.() ?? {}));
  }

  /** Asks the author's gate, if there is one, who is calling. */
  #check(exchange: HttpExchange): void {
    if (this.#gate === undefined) return this.#admit(exchange);
    this.#undecided.add(exchange);
    if (this.#keeper !== undefined) this.#keeper.check(exchange);
    else this.#withKeeper(exchange, (keeper) => keeper.check(exchange));
  }

  /** What stands at a gate is loaded where there is one. */
  #withKeeper(exchange: HttpExchange, run: (keeper: GateKeeper) => void): void {
    const admit = (admitted: HttpExchange) => this.#admit(admitted);
    const load = async () => {
      const { GateKeeper } = await import("./gate-keeper.js");
      this.#keeper ??= new GateKeeper(
        this.#host,
        this.#gate ?? (() => ({})),
        this.#maxBodyBytes,
        this.#undecided,
        admit,
      );
      run(this.#keeper);
    };
    load().catch((error: unknown) => {
      this.#undecided.delete(exchange);
      refuseFailed(exchange, this.#host, error);
    });
  }

  /** Whether the gate, where there is one that cares, lets the caller do this; answers where it does not. */
  readonly #admits = (exchange: HttpExchange, body: Parsed): boolean =>
    exchange.judge === undefined || this.#keeper?.admits(exchange, body) === true;

  #failed(exchange: HttpExchange): (error: unknown) => void {
    return (error) => refuseFailed(exchange, this.#host, error);
  }

  #admit(exchange: HttpExchange): void {
    if (this.#closing) return this.#failClosing(exchange);
    if (exchange.judge !== undefined && this.#keeper === undefined)
      return this.#withKeeper(exchange, () => this.#admit(exchange));
    for (const binding of this.#routed) if (binding.route?.(exchange) === true) return;
    if (exchange.method !== "POST") return this.#serveBodiless(exchange);
    if (!isJson(exchange.header("content-type"))) return this.#fail(exchange, 415, INVALID_REQUEST, NOT_JSON);
    exchange.text(this.#maxBodyBytes).then(
      (text) => this.#servePost(exchange, parseFrame(text)),
      (error: unknown) => this.#onBodyFailure(exchange, error),
    );
  }

  #servePost(exchange: HttpExchange, body: Parsed): void {
    if (this.#closing) return this.#failClosing(exchange, body.kind === "request" ? body.message.id : undefined);
    if (body.kind === "invalid" && body.failure.code === PARSE_ERROR) {
      return this.#fail(exchange, 400, PARSE_ERROR, body.failure.message);
    }
    const era = pickEra(this.#eras, messageOf(body), (name) => exchange.header(name));
    this.#serveBy(this.#bindings.get(era) as HttpBinding, exchange, body);
  }

  #serveBy(binding: HttpBinding, exchange: HttpExchange, body: Parsed | undefined): void {
    try {
      if (body !== undefined && !this.#admits(exchange, body)) return;
      binding.serve(exchange, body);
    } catch (error) {
      refuseFailed(exchange, this.#host, error);
    }
  }

  #serveBodiless(exchange: HttpExchange): void {
    const binding = [...this.#bindings.values()].find(({ methods }) => methods.includes(exchange.method));
    if (binding !== undefined) return this.#serveBy(binding, exchange, undefined);
    const headers = { ...JSON_HEADERS, allow: this.#allowed };
    exchange.reply(405, headers, formatFailure(undefined, { code: INVALID_REQUEST, message: NOT_ALLOWED }));
    this.#report(exchange, 405, NOT_ALLOWED);
  }

  #onBodyFailure(exchange: HttpExchange, error: unknown): void {
    if (error instanceof BodyIncomplete) return;
    if (error instanceof BodyTooLarge) return this.#fail(exchange, 413, INVALID_REQUEST, error.message);
    if (error instanceof BodyNotText) return this.#fail(exchange, 400, PARSE_ERROR, error.message);
    if (error instanceof BodyTaken) return this.#fail(exchange, 500, INTERNAL_ERROR, error.message);
    refuseFailed(exchange, this.#host, error);
  }

  #failClosing(exchange: HttpExchange, id?: RequestId): void {
    this.#fail(exchange, 503, INTERNAL_ERROR, "The server is shutting down", id);
  }

  #fail(exchange: HttpExchange, status: number, code: number, message: string, id?: RequestId): void {
    exchange.reply(status, JSON_HEADERS, formatFailure(id, { code, message }));
    this.#report(exchange, status, message);
  }

  #report(exchange: HttpExchange, status: number, message: string): void {
    this.#host.report(new ProtocolError(`${exchange.method} refused with ${status}: ${message}`), { where: "http" });
  }
}

const NOT_JSON = "Unsupported media type: Content-Type must be application/json";
const NOT_ALLOWED = "Method not allowed";
