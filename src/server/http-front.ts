import { type HttpBinding, pickEra, type ServerEra, type ServerHost } from "../era/era.js";
import { BodyIncomplete, BodyNotText, BodyTooLarge, type HttpExchange } from "../http/exchange.js";
import { createGuard } from "../http/guard.js";
import { INVALID_REQUEST, PARSE_ERROR } from "../jsonrpc/error-codes.js";
import { formatFailure } from "../jsonrpc/format.js";
import { type Parsed, parseFrame } from "../jsonrpc/parse.js";
import { DEFAULTS, type HttpServerOptions } from "./options.js";

const JSON_HEADERS = { "content-type": "application/json" };

/** What every HTTP exchange passes before an era takes it: the guard, the size, the parser, and the choice of era. */
export class HttpFront {
  readonly #host: ServerHost;
  readonly #eras: readonly ServerEra[];
  readonly #bindings = new Map<ServerEra, HttpBinding>();
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #maxBodyBytes: number;
  readonly #allowed: string;

  constructor(host: ServerHost, eras: readonly ServerEra[], options: HttpServerOptions) {
    const sessions = options.sessions ?? {};
    this.#host = host;
    this.#eras = eras;
    this.#guard = createGuard(options);
    this.#maxBodyBytes = options.maxBodyBytes ?? DEFAULTS.maxBodyBytes;
    for (const era of eras) {
      const binding = era.http(host, {
        sessions: {
          idleMs: DEFAULTS.sessionIdleMs,
          max: DEFAULTS.maxSessions,
          ...sessions,
          enabled: sessions !== false,
        },
        preferJson: options.preferJson ?? false,
        keepAliveMs: options.keepAliveMs ?? DEFAULTS.keepAliveMs,
        resumable: options.resumable ?? false,
        retryMs: options.retryMs,
        maxBehind: options.maxBehind,
      });
      this.#bindings.set(era, binding);
    }
    this.#allowed = ["POST", ...new Set([...this.#bindings.values()].flatMap((binding) => binding.methods))].join(", ");
  }

  /** Answers one exchange. Never throws: what goes wrong is answered and reported. */
  serve(exchange: HttpExchange): void {
    const refusal = this.#guard(exchange);
    if (refusal !== undefined) return fail(exchange, refusal.status, INVALID_REQUEST, refusal.message);
    if (exchange.method !== "POST") return this.#serveBodiless(exchange);
    exchange.text(this.#maxBodyBytes).then(
      (text) => this.#servePost(exchange, parseFrame(text)),
      (error: unknown) => this.#onBodyFailure(exchange, error),
    );
  }

  close(): void {
    for (const binding of this.#bindings.values()) binding.close();
  }

  /** What is being held, for tests and gauges. */
  stats(): Readonly<Record<string, number>> {
    return Object.assign({}, ...[...this.#bindings.values()].map((binding) => binding.stats?.() ?? {}));
  }

  #servePost(exchange: HttpExchange, body: Parsed): void {
    if (body.kind === "invalid" && body.failure.code === PARSE_ERROR) {
      return fail(exchange, 400, PARSE_ERROR, body.failure.message);
    }
    const message = "message" in body ? body.message : { jsonrpc: "2.0" as const, method: "" };
    const era = pickEra(this.#eras, message, (name) => exchange.header(name));
    try {
      (this.#bindings.get(era) as HttpBinding).serve(exchange, body);
    } catch (error) {
      this.#host.report(error, { where: "http" });
      fail(exchange, 500, -32603, "Internal error");
    }
  }

  #serveBodiless(exchange: HttpExchange): void {
    const binding = [...this.#bindings.values()].find(({ methods }) => methods.includes(exchange.method));
    if (binding !== undefined) return binding.serve(exchange, undefined);
    exchange.reply(
      405,
      { ...JSON_HEADERS, allow: this.#allowed },
      formatFailure(undefined, { code: INVALID_REQUEST, message: "Method not allowed" }),
    );
  }

  #onBodyFailure(exchange: HttpExchange, error: unknown): void {
    if (error instanceof BodyIncomplete) return;
    if (error instanceof BodyTooLarge) return fail(exchange, 413, INVALID_REQUEST, error.message);
    if (error instanceof BodyNotText) return fail(exchange, 400, PARSE_ERROR, error.message);
    this.#host.report(error, { where: "http" });
    fail(exchange, 500, -32603, "Internal error");
  }
}

function fail(exchange: HttpExchange, status: number, code: number, message: string): void {
  exchange.reply(status, JSON_HEADERS, formatFailure(undefined, { code, message }));
}
