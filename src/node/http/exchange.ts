import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LONGEST_DELAY } from "../../call/clock.js";
import type { AuthInfo } from "../../http/auth-info.js";
import { BodyIncomplete, BodyNotText, BodyTaken, BodyTooLarge } from "../../http/body-failure.js";
import { BODILESS, type HttpExchange, type HttpHeaders, type HttpStream, toBodyText } from "../../http/exchange.js";
import { decodeBody, IncomingBody, RequestBodies } from "../../http/request-bodies.js";
import type { Known } from "../../protocol/known-options.js";
import { networkOf } from "./network.js";

/** Options of an exchange over `node:http`. */
export interface NodeExchangeOptions {
  /** Information about the caller from the authorization gate. */
  readonly auth?: AuthInfo | undefined;
  /** Identifier of the caller. */
  readonly principal?: string | undefined;
  /** Body that the surrounding application has already read: its text, or the parsed JSON value. */
  readonly body?: unknown;
}

export const EXCHANGE_OPTIONS: Known<NodeExchangeOptions> = { auth: "any", principal: "any", body: "any" };

/** Time for which a client that sends too much may continue before it is disconnected. */
const LINGER_MS = 500;

/** Creates an exchange over `node:http`, without web objects. */
export function createNodeExchange(
  req: IncomingMessage,
  res: ServerResponse,
  options?: NodeExchangeOptions,
): HttpExchange {
  return new NodeExchange(req, res, options);
}

class NodeExchange implements HttpExchange {
  readonly method: string;
  readonly url: string;
  readonly auth: AuthInfo | undefined;
  readonly principal: string | undefined;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #body: unknown;
  stallMs = Number.POSITIVE_INFINITY;
  /** True if part of the request is unread, so that the connection cannot be reused. */
  #closes = false;
  /** True if the response was sent and only the end of the connection is delayed. A disconnect is not reported then. */
  #lingers = false;

  constructor(req: IncomingMessage, res: ServerResponse, options: NodeExchangeOptions | undefined) {
    this.#req = req;
    this.#res = res;
    this.method = req.method ?? "GET";
    // Frameworks that mount handlers keep the whole path there.
    this.url = (req as { originalUrl?: string }).originalUrl ?? req.url ?? "/";
    this.auth = options?.auth;
    this.principal = options?.principal;
    this.#body = options?.body;
  }

  get remote(): string | undefined {
    return networkOf(this.#req.socket.remoteAddress);
  }

  get answered(): boolean {
    return this.#res.headersSent || this.#res.destroyed;
  }

  header(name: string): string | undefined {
    const { headers } = this.#req;
    const value = headers[name] ?? (name === "host" ? headers[":authority"] : undefined);
    return typeof value === "object" ? value.join(", ") : value;
  }

  text(limit: number, bodies?: RequestBodies): Promise<string> {
    return new Promise((resolve, reject) => this.read(limit, resolve, reject, bodies));
  }

  read(
    limit: number,
    onText: (text: string) => void,
    onFailure: (error: unknown) => void,
    bodies = new RequestBodies(),
  ): void {
    const req = this.#req;
    if (this.#body !== undefined) return onText(toBodyText(this.#body));
    const declared = Number(req.headers["content-length"]);
    // A body whose declared length exceeds the limit is not read.
    if (declared > limit) {
      this.#closes = true;
      return onFailure(new BodyTooLarge(limit));
    }
    if (req.readableDidRead) return onFailure(new BodyTaken());
    bodies.arrive();
    setImmediate(readArrived, this, limit, declared, onText, onFailure, bodies);
  }

  /**
   * Reads a body that has arrived as a whole, as nearly all have when the sockets of this turn were read. It needs no
   * listeners and no timer. Any other body is awaited.
   */
  readArrived(
    limit: number,
    declared: number,
    onText: (text: string) => void,
    onFailure: (error: unknown) => void,
    bodies: RequestBodies,
  ): void {
    const req = this.#req;
    const isWhole = declared > 0 && req.complete && req.readableLength === declared;
    if (!isWhole && !req.destroyed) this.#await(limit, declared, onText, onFailure, bodies);
    bodies.arrived();
    // The client may have left since, but it has sent everything.
    const piece: Uint8Array | null = isWhole ? req.read() : null;
    if (piece === null) return isWhole || req.destroyed ? onFailure(new BodyIncomplete()) : undefined;
    const text = decodeBody(piece);
    if (text === undefined) onFailure(new BodyNotText());
    else onText(text);
  }

  /** Reads a body as it arrives. */
  #await(
    limit: number,
    declared: number,
    onText: (text: string) => void,
    onFailure: (error: unknown) => void,
    bodies: RequestBodies,
  ): void {
    const req = this.#req;
    const stop = (error: unknown) => {
      this.#closes = true;
      req.pause();
      if (body.close()) onFailure(error);
    };
    const body = new IncomingBody(bodies, limit, declared, stop);
    // The listeners are never removed. They are collected with the request.
    req.on("data", (piece: Buffer) => {
      const failure = this.#closes ? undefined : body.add(piece);
      if (failure !== undefined) stop(failure);
    });
    req.on("end", () => {
      const text = body.text();
      if (!body.close()) return;
      if (text === undefined) onFailure(new BodyNotText());
      else onText(text);
    });
    const onCut = (cause?: unknown) => {
      if (!req.readableEnded && body.close()) onFailure(new BodyIncomplete({ cause }));
    };
    req.on("error", onCut);
    req.on("close", onCut);
  }

  onGone(listener: () => void): void {
    const res = this.#res;
    if (isComplete(res)) return;
    if (res.destroyed) {
      process.nextTick(listener);
      return;
    }
    // A response that waits behind a pipelined one has no socket yet, and gets no event when the connection ends.
    const socket = res.socket === null ? this.#req.socket : undefined;
    const onClose = () => {
      res.off("close", onClose);
      socket?.off("close", onClose);
      if (!isComplete(res) && !this.#lingers) listener();
    };
    res.on("close", onClose);
    socket?.on("close", onClose);
  }

  reply(status: number, headers: HttpHeaders, body?: string): void {
    const res = this.#res;
    if (res.destroyed) return;
    const fields = toFields(headers);
    if (!BODILESS.has(status))
      fields.push("content-length", body === undefined ? "0" : String(Buffer.byteLength(body)));
    if (this.#closes) {
      this.#replyAndClose(status, fields, body);
      return;
    }
    res.writeHead(status, fields);
    end(res, this.stallMs, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    const res = this.#res;
    if (!res.destroyed) {
      res.writeHead(status, toFields(headers));
      // Sends the headers together with the data that is written in this turn of the event loop.
      process.nextTick(flush, res);
    }
    return new NodeStream(res, this.stallMs);
  }

  /**
   * Sends the response and closes the connection. Closing it while the client still sends would reset it and lose the
   * response. So the response is sent completely, incoming data is discarded for a moment, and then the connection is
   * closed.
   */
  #replyAndClose(status: number, fields: string[], body: string | undefined): void {
    const req = this.#req;
    const res = this.#res;
    this.#lingers = true;
    fields.push("connection", "close");
    res.writeHead(status, fields);
    if (body === undefined) res.flushHeaders();
    else res.write(body);
    const close = () => {
      clearTimeout(timer);
      if (!res.destroyed && !res.writableEnded) res.end();
    };
    const timer = setTimeout(close, LINGER_MS);
    timer.unref();
    req.on("end", close);
    req.on("close", close);
    req.on("error", close);
    req.resume();
  }
}

class NodeStream implements HttpStream {
  readonly #res: ServerResponse;
  readonly #stallMs: number;

  constructor(res: ServerResponse, stallMs: number) {
    this.#res = res;
    this.#stallMs = stallMs;
  }

  write(text: string): boolean {
    const res = this.#res;
    if (res.destroyed || res.writableEnded || text === "") return true;
    return res.write(text);
  }

  onDrain(listener: () => void): void {
    const res = this.#res;
    if (res.destroyed || !res.writableNeedDrain) {
      process.nextTick(listener);
      return;
    }
    const release = () => {
      res.off("drain", release);
      res.off("close", release);
      listener();
    };
    res.on("drain", release);
    res.on("close", release);
  }

  end(): void {
    const res = this.#res;
    if (!res.destroyed && !res.writableEnded) end(res, this.#stallMs);
  }

  destroy(): void {
    this.#res.destroy();
  }
}

/**
 * Ends a response, and disconnects a client that does not read the rest of it. The platform's timer restarts with any
 * progress.
 */
function end(res: ServerResponse, stallMs: number, body?: string): void {
  res.end(body);
  if (res.writableLength === 0 || stallMs >= LONGEST_DELAY) return;
  res.setTimeout(stallMs, () => res.destroy());
  // The timer belongs to the connection. The next pipelined response must not inherit it.
  res.prependOnceListener("finish", () => res.setTimeout(0));
}

/**
 * True if a response was ended and sent. Over HTTP/2 a response counts as finished when its stream is closed, even if
 * it was not ended.
 */
function isComplete(res: ServerResponse): boolean {
  return res.writableEnded && res.writableFinished;
}

function readArrived(exchange: NodeExchange, ...read: Parameters<NodeExchange["readArrived"]>): void {
  exchange.readArrived(...read);
}

function flush(res: ServerResponse): void {
  if (!res.destroyed && !res.writableEnded) res.flushHeaders();
}

function toFields(headers: HttpHeaders): string[] {
  const fields: string[] = [];
  for (const name in headers) fields.push(name, headers[name] as string);
  return fields;
}
