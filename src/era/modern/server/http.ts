import type { MaybePromise } from "../../../call/maybe-promise.js";
import type { HttpExchange } from "../../../http/exchange.js";
import { rememberLast } from "../../../http/guard.js";
import { accepts } from "../../../http/media-type.js";
import { KeepAlive } from "../../../http/sse/keep-alive.js";
import type { RpcRequest } from "../../../protocol/jsonrpc/message.js";
import type { Parsed } from "../../../protocol/jsonrpc/parse.js";
import { KEEP_ALIVE_MS, MAX_BEHIND } from "../../defaults.js";
import { refuseFailed } from "../../refuse.js";
import type { HttpBinding, HttpBindingOptions, ServerEra, ServerRuntime } from "../../server-era.js";
import { type Envelope, hasEnvelope, readEnvelope } from "../envelope.js";
import { assertServed, type Serving, toCall } from "./decode.js";
import { assertHeadersMatchBody, headersMatchBody, mirroredFieldsOf } from "./headers.js";
import { refuse, refuseForm, serveHandshake, serveOther } from "./refusals.js";
import { type Endpoint, ModernReply, type ReplyForm } from "./reply.js";

const LISTEN = "subscriptions/listen";
/** Subscriptions end by themselves when the server begins to close; those that do not are ended after this long. */
const LISTEN_GRACE_MS = 1_000;

/** One POST, one request, one answer: nothing outlives its exchange. */
export class ModernBinding implements HttpBinding {
  readonly #serving: Serving;
  readonly #endpoint: Endpoint;
  readonly #formOf: (accept: string | undefined) => ReplyForm;
  #closed = false;

  constructor(era: ServerEra, runtime: ServerRuntime, options: HttpBindingOptions) {
    this.#serving = { era, runtime };
    const { keepAliveMs = KEEP_ALIVE_MS, maxBehind = MAX_BEHIND } = options;
    this.#endpoint = { runtime, open: new KeepAlive(runtime.clock, keepAliveMs), maxBehind };
    this.#formOf = rememberLast((accept) => toForm(accept, options));
  }

  serve(exchange: HttpExchange, body: Parsed | undefined): void {
    try {
      const taken = this.#take(exchange, body);
      if (taken instanceof Promise) taken.catch((error: unknown) => this.#refuse(exchange, body, error));
    } catch (error) {
      this.#refuse(exchange, body, error);
    }
  }

  idle(): Promise<void> {
    return this.#endpoint.open.whenEmpty();
  }

  /** Running calls are told at once. Subscriptions may send their last word first. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { open } = this.#endpoint;
    open.stop();
    for (const exchange of [...open]) if (exchange.call.method !== LISTEN) exchange.shutDown();
    if (open.size === 0) return;
    const { clock } = this.#serving.runtime;
    const timer = clock.schedule(() => {
      for (const exchange of [...open]) exchange.shutDown();
    }, LISTEN_GRACE_MS);
    await open.whenEmpty();
    clock.cancel(timer);
  }

  stats(): Readonly<Record<string, number>> {
    return { openRequests: this.#endpoint.open.size };
  }

  #take(exchange: HttpExchange, body: Parsed | undefined): MaybePromise<void> {
    if (!this.#closed && body?.kind === "request") return this.#serveRequest(exchange, body.message);
    return serveOther(exchange, body, this.#serving, this.#closed);
  }

  /** Metadata, then headers, then version: the first fault is the one that is told. */
  #serveRequest(exchange: HttpExchange, request: RpcRequest): MaybePromise<void> {
    const { method, params = {} } = request;
    const accepted = this.#formOf(exchange.header("accept"));
    const form = method === LISTEN ? { ...STREAM_ALWAYS, stream: accepted.listen } : accepted;
    if (!form.json && !form.stream) return refuseForm(method);
    if (method === "initialize" && !hasEnvelope(params)) return serveHandshake(exchange, params, this.#serving);
    const envelope = readEnvelope(params);
    const mirrored = mirroredFieldsOf(this.#serving, method, params, envelope.version);
    if (headersMatchBody(exchange, mirrored)) return this.#serveCall(exchange, request, envelope, form);
    assertHeadersMatchBody(exchange, mirrored);
    return this.#serveCall(exchange, request, envelope, form);
  }

  #serveCall(exchange: HttpExchange, request: RpcRequest, envelope: Envelope, form: ReplyForm): void {
    assertServed(this.#serving, envelope.version);
    const served = new ModernReply(this.#endpoint, exchange, form);
    served.serve(toCall(this.#serving, request, envelope, served, exchange));
  }

  /** Whatever was thrown before a call began. */
  #refuse(exchange: HttpExchange, body: Parsed | undefined, error: unknown): void {
    try {
      refuse(exchange, body, error, this.#serving);
    } catch (cause) {
      refuseFailed(exchange, this.#serving.runtime, cause);
    }
  }
}

const STREAM_ALWAYS: ReplyForm = { json: false, stream: true, listen: true, streamAlways: true, streamWhenQuiet: true };

function toForm(accept: string | undefined, { preferJson = false, responseMode }: HttpBindingOptions): ReplyForm {
  const listen = accepts(accept, "text/event-stream");
  const json = responseMode !== "sse" && accepts(accept, "application/json");
  const stream = responseMode !== "json" && listen;
  return { json, stream, listen, streamAlways: stream && !json, streamWhenQuiet: stream && (!json || !preferJson) };
}
