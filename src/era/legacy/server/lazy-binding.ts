import type { HttpExchange } from "../../../http/exchange.js";
import { answerableId, type Parsed } from "../../../protocol/jsonrpc/parse.js";
import { refuseFailed } from "../../refuse.js";
import type { HttpBinding, HttpBindingOptions, OfferedEra, ServerRuntime, SessionOptions } from "../../server-era.js";
import { isSsePath, resolveSsePaths } from "../../sse-paths.js";

/**
 * The era's binding before and after it is loaded, which the first exchange brings about. Exchanges that come meanwhile
 * are served in their order. A load that fails refuses those that waited for it, and the next exchange tries again.
 */
export class LateBinding implements HttpBinding {
  readonly methods: readonly string[];
  readonly route?: (exchange: HttpExchange) => boolean;
  readonly #era: OfferedEra;
  readonly #runtime: ServerRuntime;
  readonly #options: HttpBindingOptions;
  #binding: HttpBinding | undefined;
  #loading: Promise<void> | undefined;
  readonly #waiting: Waiting[] = [];
  #closed = false;

  constructor(era: OfferedEra, runtime: ServerRuntime, options: HttpBindingOptions) {
    this.#era = era;
    this.#runtime = runtime;
    this.#options = options;
    this.methods = methodsOf(options.sessions);
    const { sse, accept } = options;
    if (sse === undefined || sse === false || accept === undefined) return;
    const paths = resolveSsePaths(sse);
    this.route = (exchange) => {
      if (!isSsePath(exchange.url, paths)) return false;
      if (this.#binding === undefined) this.#wait(exchange, undefined, (binding) => binding.route?.(exchange));
      else this.#binding.route?.(exchange);
      return true;
    };
  }

  serve(exchange: HttpExchange, body: Parsed | undefined): void {
    if (this.#binding === undefined) this.#wait(exchange, body, (binding) => binding.serve(exchange, body));
    else this.#binding.serve(exchange, body);
  }

  stats(): Readonly<Record<string, number>> {
    return this.#binding?.stats?.() ?? { sessions: 0, streams: 0, running: this.#waiting.length };
  }

  async idle(): Promise<void> {
    await this.#loading;
    await this.#binding?.idle();
  }

  /** Those that wait are refused by the binding, in its own words. */
  async close(): Promise<void> {
    this.#closed = true;
    await (this.#binding === undefined ? this.#loading : this.#binding.close());
  }

  #wait(exchange: HttpExchange, body: Parsed | undefined, serve: Waiting["serve"]): void {
    this.#waiting.push({ exchange, body, serve });
    this.#loading ??= this.#load();
  }

  async #load(): Promise<void> {
    try {
      const [era] = await Promise.all([this.#era.load(), this.#runtime.prepare?.()]);
      const binding = era.http(this.#runtime, this.#options);
      if (this.#closed) await binding.close();
      this.#binding = binding;
      this.#serveWaiting(({ serve }) => serve(binding));
    } catch (cause) {
      const error = new Error(`what serves the versions ${this.#era.versions.join(", ")} cannot be loaded`, { cause });
      this.#loading = undefined;
      this.#serveWaiting(({ exchange, body }) =>
        refuseFailed(exchange, this.#runtime, error, body && answerableId(body)),
      );
    }
  }

  #serveWaiting(serve: (waiting: Waiting) => void): void {
    for (const waiting of this.#waiting.splice(0)) {
      try {
        serve(waiting);
      } catch (error) {
        refuseFailed(waiting.exchange, this.#runtime, error);
      }
    }
  }
}

interface Waiting {
  readonly exchange: HttpExchange;
  readonly body: Parsed | undefined;
  serve(binding: HttpBinding): void;
}

/** Those beside POST. */
export function methodsOf(sessions: SessionOptions = {}): string[] {
  if (sessions === false) return [];
  const { clientMayListen, clientMayEnd } = sessions;
  return [...(clientMayListen === false ? [] : ["GET"]), ...(clientMayEnd === false ? [] : ["DELETE"])];
}
