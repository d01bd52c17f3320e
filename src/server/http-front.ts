import { type AcceptChannel, type HttpBinding, pickEra, type ServerEra, type ServerHost } from "../era/era.js";
import type { GateRefusal, Operation } from "../http/admission.js";
import { corsHeaders, isPreflight, preflightHeaders } from "../http/cors.js";
import { DecoratedExchange } from "../http/decorated-exchange.js";
import {
  BodyIncomplete,
  BodyNotText,
  BodyTaken,
  BodyTooLarge,
  type HttpExchange,
  JSON_HEADERS,
} from "../http/exchange.js";
import type { GateVerdict, HttpGate } from "../http/gate.js";
import { createGuard } from "../http/guard.js";
import { isJson } from "../http/media-type.js";
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from "../jsonrpc/error-codes.js";
import { formatFailure } from "../jsonrpc/format.js";
import type { RequestId, RpcRequest } from "../jsonrpc/message.js";
import { type Parsed, parseFrame } from "../jsonrpc/parse.js";
import { DefinitionError, ProtocolError } from "../schema/errors.js";
import { messageOf } from "./era-of-request.js";
import { DEFAULTS, type HttpServerOptions } from "./options.js";

export interface FrontHost extends ServerHost {
  /** What the definitions that a request names require of its caller. */
  requiredScopes(method: unknown, params: { readonly [key: string]: unknown }): readonly string[];
}

/**
 * What every HTTP exchange passes before an era takes it, cheapest first: the guard, cross-origin rules, the author's
 * gate, the media type, the size, the parser, and the choice of era.
 */
export class HttpFront {
  readonly #host: FrontHost;
  readonly #eras: readonly ServerEra[];
  readonly #bindings = new Map<ServerEra, HttpBinding>();
  /** Those that serve paths of their own. */
  readonly #routed: readonly HttpBinding[];
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #gate: HttpGate | undefined;
  #warned = false;
  readonly #cors: boolean;
  readonly #maxBodyBytes: number;
  readonly #allowed: string;
  /** Those that the gate has not decided about yet. */
  readonly #undecided = new Set<HttpExchange>();
  #closing = false;

  constructor(host: FrontHost, eras: readonly ServerEra[], options: HttpServerOptions, accept?: AcceptChannel) {
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
    if (isPreflight(exchange)) return exchange.reply(204, preflightHeaders(origin, this.#allowed, exchange));
    this.#check(new DecoratedExchange(exchange, { headers: corsHeaders(origin) }));
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

  /** Without a name for the caller, sessions and sealed state cannot be kept from others. */
  #warnOfUnnamed(verdict: Exclude<GateVerdict, { readonly status: number }>): void {
    if (verdict.auth === undefined || verdict.principal !== undefined || this.#warned) return;
    this.#warned = true;
    this.#host.warn("the gate lets callers in without a principal: sessions and state are not bound to who made them");
  }

  /** Asks the author's gate, if there is one, who is calling. */
  #check(exchange: HttpExchange): void {
    if (this.#gate === undefined) return this.#admit(exchange);
    const pass = (verdict: GateVerdict) => {
      // The server may have closed meanwhile.
      if (!this.#undecided.delete(exchange)) return;
      if (!("status" in verdict)) {
        this.#warnOfUnnamed(verdict);
        const { lifeMs } = verdict;
        const endsAt = lifeMs === undefined ? undefined : this.#host.clock.now() + lifeMs;
        return this.#admit(new DecoratedExchange(exchange, verdict, endsAt));
      }
      if (verdict.amend === undefined || exchange.method !== "POST") return this.#refuse(exchange, verdict);
      const { amend } = verdict;
      exchange
        .text(this.#maxBodyBytes)
        .then((text) => amend(this.#operationsOf(parseFrame(text))))
        .catch(() => verdict)
        .then((refusal) => this.#refuse(exchange, refusal));
    };
    const gate = this.#gate;
    this.#undecided.add(exchange);
    (async () => pass(await gate(exchange)))().catch((error: unknown) => {
      this.#undecided.delete(exchange);
      this.#failInside(exchange, error);
    });
  }

  #refuse(exchange: HttpExchange, { status, headers = {}, body, error }: GateRefusal): void {
    exchange.reply(status, headers, body);
    if (error === undefined) this.#report(exchange, status, "the gate let nobody in");
    else this.#host.report(error, { where: "http" });
  }

  /** Whether the gate, where there is one that cares, lets the caller do this; answers where it does not. */
  readonly #admits = (exchange: HttpExchange, body: Parsed): boolean => {
    const refusal = exchange.judge?.(this.#operationsOf(body));
    if (refusal !== undefined) this.#refuse(exchange, refusal);
    return refusal === undefined;
  };

  #operationsOf(body: Parsed): readonly Operation[] {
    return messagesOf(body).map((message) => {
      const { method = "", params } = (message ?? {}) as Partial<RpcRequest>;
      return { method, params, scopes: this.#host.requiredScopes(method, params ?? {}) };
    });
  }

  #admit(exchange: HttpExchange): void {
    if (this.#closing) return this.#failClosing(exchange);
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
      this.#failInside(exchange, error);
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
    this.#failInside(exchange, error);
  }

  #failClosing(exchange: HttpExchange, id?: RequestId): void {
    this.#fail(exchange, 503, INTERNAL_ERROR, "The server is shutting down", id);
  }

  /** What goes wrong after the answer is only reported. */
  #failInside(exchange: HttpExchange, error: unknown): void {
    const body = formatFailure(undefined, { code: INTERNAL_ERROR, message: "Internal error" });
    if (!exchange.answered) exchange.reply(500, JSON_HEADERS, body);
    this.#host.report(error, { where: "http" });
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

function messagesOf(body: Parsed): readonly unknown[] {
  return body.kind === "batch" ? body.items : "message" in body ? [body.message] : [];
}
