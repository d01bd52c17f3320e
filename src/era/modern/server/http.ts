import type { HttpExchange } from "../../../http/exchange.js";
import { accepts, rememberLast } from "../../../http/headers.js";
import { KEEP_ALIVE_MS, KeepAlive } from "../../../http/sse/keep-alive.js";
import { Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Parsed } from "../../../protocol/jsonrpc/parse.js";
import type { HttpBinding, HttpBindingOptions, ServerEra, ServerRuntime, ServerWire } from "../../server-era.js";
import { openEnvelope } from "./decode.js";
import { bodyRefusal, notAcceptable, notificationRefusal, refuse, shuttingDown } from "./refusals.js";
import { type Endpoint, ModernReply, type ReplyForm, rejectRequest } from "./reply.js";
import { ModernSession } from "./session.js";

const LISTEN = "subscriptions/listen";
/**
 * Milliseconds that subscriptions have to end by themselves when the server closes. Those still open are then ended.
 */
const LISTEN_GRACE_MS = 1_000;

/** HTTP side of the modern era. Each POST has one request and one response, and nothing outlives its exchange. */
export class ModernBinding implements HttpBinding {
  readonly #endpoint: Endpoint;
  readonly #formOf: (accept: string | undefined) => ReplyForm;
  #closed = false;

  constructor(era: ServerEra, runtime: ServerRuntime, options: HttpBindingOptions) {
    const { keepAliveMs = KEEP_ALIVE_MS } = options;
    this.#endpoint = { era, runtime, open: new KeepAlive(runtime.clock, keepAliveMs) };
    this.#formOf = rememberLast((accept) => toForm(accept, options));
  }

  serve(exchange: HttpExchange, body: Parsed | undefined): void {
    if (this.#closed) return this.#refuse(exchange, body, shuttingDown());
    if (body?.kind === "notification") return this.#receive(exchange, body);
    if (body?.kind !== "request") return this.#refuse(exchange, body, bodyRefusal(exchange, body));
    const { method } = body.message;
    const form = this.#formFor(method, exchange.header("accept"));
    if (!form.json && !form.stream) return this.#refuse(exchange, body, notAcceptable(method));
    const envelope = openEnvelope(this.#endpoint, body.message, exchange);
    if (envelope instanceof Refusal) return this.#refuse(exchange, body, envelope);
    new ModernReply(this.#endpoint, exchange, form, body.message, envelope).serve();
  }

  idle(): Promise<void> {
    return this.#endpoint.open.whenEmpty();
  }

  /** Ends running calls at once. Subscriptions may send their result first. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { open } = this.#endpoint;
    open.stop();
    for (const reply of [...open]) if (reply.call.method !== LISTEN) reply.shutDown();
    if (open.size === 0) return;
    const { clock } = this.#endpoint.runtime;
    const timer = clock.schedule(() => {
      for (const reply of [...open]) reply.shutDown();
    }, LISTEN_GRACE_MS);
    await open.whenEmpty();
    clock.cancel(timer);
  }

  stats(): Readonly<Record<string, number>> {
    return { openRequests: this.#endpoint.open.size };
  }

  #formFor(method: string, accept: string | undefined): ReplyForm {
    const accepted = this.#formOf(accept);
    return method === LISTEN ? { ...STREAM_ALWAYS, stream: accepted.listen } : accepted;
  }

  #receive(exchange: HttpExchange, body: Parsed & { readonly kind: "notification" }): void {
    const refusal = notificationRefusal(exchange, body.message, this.#endpoint);
    if (refusal !== undefined) return this.#refuse(exchange, body, refusal);
    // Over HTTP a request is cancelled by closing its own exchange. An id could belong to any client.
    // Each POST is independent, so that no client waits for the notifications of another.
    const { era, runtime } = this.#endpoint;
    if (body.message.method !== "notifications/cancelled")
      new ModernSession(era, runtime, { ...NO_WIRE, principal: exchange.principal }).receive(body.message);
    exchange.reply(202, {});
  }

  #refuse(exchange: HttpExchange, body: Parsed | undefined, refusal: Refusal): void {
    refuse(exchange, body, refusal, this.#endpoint);
  }
}

/** Wire of a notification, which has no connection back to its client. */
const NO_WIRE: ServerWire = {
  shared: false,
  notify: () => {},
  request: rejectRequest,
};

const STREAM_ALWAYS: ReplyForm = { json: false, stream: true, listen: true, streamAlways: true, streamWhenQuiet: true };

function toForm(accept: string | undefined, { responseMode }: HttpBindingOptions): ReplyForm {
  const listen = accepts(accept, "text/event-stream");
  const json = responseMode !== "sse" && accepts(accept, "application/json");
  const stream = responseMode !== "json" && listen;
  return {
    json,
    stream,
    listen,
    streamAlways: stream && !json,
    streamWhenQuiet: stream && (!json || responseMode !== "prefer-json"),
  };
}
