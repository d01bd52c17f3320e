import { type HttpExchange, JSON_HEADERS } from "../../http/exchange.js";
import { KeepAlive } from "../../http/keep-alive.js";
import { accepts, rememberLast } from "../../http/media-type.js";
import { INTERNAL_ERROR, INVALID_REQUEST, Refusal } from "../../jsonrpc/error-codes.js";
import { formatFailure } from "../../jsonrpc/format.js";
import type { RpcNotification, RpcRequest } from "../../jsonrpc/message.js";
import { answerableId, type Parsed } from "../../jsonrpc/parse.js";
import type { HttpBinding, HttpBindingOptions, ServerEra, ServerHost, ServerWire } from "../era.js";
import {
  assertMethodHeaderIfAny,
  assertParamHeaders,
  assertRequestHeaders,
  assertVersionHeader,
} from "./check-headers.js";
import { type Envelope, metaOf, readEnvelope, unsupportedVersion, VERSION_KEY } from "./envelope.js";
import { type Endpoint, ModernExchange, type ReplyForm } from "./server-exchange.js";
import { ModernSession } from "./session.js";

const LISTEN = "subscriptions/listen";
/** Subscriptions end by themselves when the server begins to close; those that do not are ended after this long. */
const LISTEN_GRACE_MS = 1_000;

/** One POST, one request, one answer: nothing outlives its exchange. */
export function createModernBinding(era: ServerEra, host: ServerHost, options: HttpBindingOptions): HttpBinding {
  return new ModernBinding(era, host, options);
}

/** The session that all exchanges share has no way back: each exchange is its own. */
const NO_WIRE: ServerWire = {
  shared: false,
  notify: () => {},
  request: () => Promise.reject(new Error("a server sends no requests in this protocol version")),
};

class ModernBinding implements HttpBinding {
  readonly methods: readonly string[] = [];
  readonly #era: ServerEra;
  readonly #host: ServerHost;
  readonly #session: ModernSession;
  readonly #endpoint: Endpoint;
  readonly #formOf: (accept: string | undefined) => ReplyForm;
  #closed = false;

  constructor(era: ServerEra, host: ServerHost, options: HttpBindingOptions) {
    this.#era = era;
    this.#host = host;
    this.#session = new ModernSession(era, host, NO_WIRE);
    this.#endpoint = {
      host,
      open: new KeepAlive(host.clock, options.keepAliveMs),
      maxBehind: options.maxBehind,
    };
    this.#formOf = rememberLast((accept) => toForm(accept, options));
  }

  serve(exchange: HttpExchange, body: Parsed | undefined): void {
    try {
      this.#take(exchange, body);
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
    const { clock } = this.#host;
    const timer = clock.schedule(() => {
      for (const exchange of [...open]) exchange.shutDown();
    }, LISTEN_GRACE_MS);
    await open.whenEmpty();
    clock.cancel(timer);
  }

  stats(): Readonly<Record<string, number>> {
    return { openRequests: this.#endpoint.open.size };
  }

  #take(exchange: HttpExchange, body: Parsed | undefined): void {
    if (this.#closed) throw new HttpRefusal(503, INTERNAL_ERROR, "The server is shutting down");
    if (body === undefined) throw new HttpRefusal(405, INVALID_REQUEST, `${exchange.method} is not served here`);
    if (body.kind === "request") this.#serveRequest(exchange, body.message);
    else if (body.kind === "notification") this.#serveNotification(exchange, body.message);
    else throw new HttpRefusal(400, ...faultOf(body));
  }

  #serveRequest(exchange: HttpExchange, request: RpcRequest): void {
    const listens = request.method === LISTEN;
    const form = this.#formOf(exchange.header("accept"));
    if (listens ? !form.listen : !form.json && !form.stream) {
      throw new HttpRefusal(
        406,
        INVALID_REQUEST,
        `Not acceptable: ${request.method} is answered as ${listens ? "" : "application/json or "}text/event-stream`,
      );
    }
    const envelope = this.#admit(exchange, request);
    const served = new ModernExchange(this.#endpoint, exchange, listens ? STREAM_ALWAYS : form);
    served.serve(this.#session.admit(request, envelope, served, exchange));
  }

  /** Metadata, then headers, then version: the first fault is the one that is told. */
  #admit(exchange: HttpExchange, request: RpcRequest): Envelope {
    const { method } = request;
    const params = request.params ?? {};
    if (method === "initialize" && metaOf(params)?.[VERSION_KEY] === undefined) this.#refuseHandshake(exchange, params);
    const envelope = readEnvelope(params);
    const nameFrom = this.#era.methods.get(method)?.nameFrom ?? this.#host.nameFrom?.(method);
    assertRequestHeaders(exchange, { version: envelope.version, method, params }, nameFrom);
    if (method === "tools/call" && typeof params.name === "string") {
      const headers = this.#host.paramHeaders(params.name);
      if (headers !== undefined && headers.length > 0) assertParamHeaders(exchange, headers, params.arguments);
    }
    this.#session.assertServed(envelope.version);
    return envelope;
  }

  /** A handshake belongs to older versions: a client that opens with one learns which versions there are. */
  #refuseHandshake(exchange: HttpExchange, params: { readonly [key: string]: unknown }): never {
    const requested = typeof params.protocolVersion === "string" ? params.protocolVersion : undefined;
    const header = exchange.header("mcp-protocol-version");
    if (header !== undefined && this.#era.versions.includes(header)) assertVersionHeader(exchange, requested ?? "");
    throw unsupportedVersion(requested, this.#host.versions);
  }

  /** Its headers may be missing, because the protocol leaves them open; those that are there must be true. */
  #serveNotification(exchange: HttpExchange, notification: RpcNotification): void {
    assertMethodHeaderIfAny(exchange, notification.method);
    const header = exchange.header("mcp-protocol-version");
    const claimed = metaOf(notification.params)?.[VERSION_KEY];
    if (typeof claimed === "string" && header !== undefined) assertVersionHeader(exchange, claimed);
    const version = typeof claimed === "string" ? claimed : header;
    if (version !== undefined) this.#session.assertServed(version);
    // On this wire a request is cancelled by closing its own exchange; an id could be anybody's.
    if (notification.method !== "notifications/cancelled") this.#session.receive(notification);
    exchange.reply(202, {});
  }

  /** Whatever was thrown before a call began. */
  #refuse(exchange: HttpExchange, body: Parsed | undefined, error: unknown): void {
    const id = body === undefined ? undefined : answerableId(body);
    const method = body?.kind === "request" || body?.kind === "notification" ? body.message.method : undefined;
    this.#host.report(error, { where: "http", method, id });
    const refusal = error instanceof Refusal ? error : new HttpRefusal(500, INTERNAL_ERROR, "Internal error");
    const status = refusal instanceof HttpRefusal ? refusal.status : 400;
    const headers = status === 405 ? METHOD_HEADERS : JSON_HEADERS;
    exchange.reply(status, headers, formatFailure(id, this.#era.encodeError(refusal, undefined)));
  }
}

/** A refusal by the transport itself. */
class HttpRefusal extends Refusal {
  constructor(
    readonly status: number,
    rpcCode: number,
    message: string,
  ) {
    super(rpcCode, message);
  }
}

const METHOD_HEADERS = { ...JSON_HEADERS, allow: "POST" };
const STREAM_ALWAYS: ReplyForm = { json: false, stream: true, listen: true, streamAlways: true, streamWhenQuiet: true };

function toForm(accept: string | undefined, { preferJson, responseMode }: HttpBindingOptions): ReplyForm {
  const listen = accepts(accept, "text/event-stream");
  const json = responseMode !== "sse" && accepts(accept, "application/json");
  const stream = responseMode !== "json" && listen;
  return { json, stream, listen, streamAlways: stream && !json, streamWhenQuiet: stream && (!json || !preferJson) };
}

function faultOf(body: Parsed): [code: number, message: string] {
  if (body.kind === "invalid") return [body.failure.code, body.failure.message];
  const problem = body.kind === "batch" ? "a body is one message" : "a client sends no responses";
  return [INVALID_REQUEST, `Invalid request: ${problem}`];
}
