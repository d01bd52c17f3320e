import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LONGEST_DELAY } from "../../call/clock.js";
import { BodyIncomplete, BodyNotText, BodyTaken, BodyTooLarge } from "../../http/body-failure.js";
import { BODILESS, type HttpExchange, type HttpHeaders, type HttpStream, toBodyText } from "../../http/exchange.js";
import { IncomingBody, RequestBodies } from "../../http/request-bodies.js";

export interface NodeExchangeOptions {
  /** What the authorization gate found out about the caller. */
  readonly auth?: unknown;
  /** Who is calling, in one word. */
  readonly principal?: string | undefined;
  /** The body, if something in front has read it: its text, or the parsed JSON value. */
  readonly body?: unknown;
}

/** How long a client that sends too much may go on before it is cut off. */
const LINGER_MS = 500;

/** An exchange over `node:http`, without web objects in between. */
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
  readonly auth: unknown;
  readonly principal: string | undefined;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #body: unknown;
  stallMs = Number.POSITIVE_INFINITY;
  /** Part of the request is left unread: the connection cannot carry another one. */
  #closes = false;
  /** The whole answer was given and only the end of the connection is delayed: nobody leaves early any more. */
  #lingers = false;

  constructor(req: IncomingMessage, res: ServerResponse, options: NodeExchangeOptions | undefined) {
    this.#req = req;
    this.#res = res;
    this.method = req.method ?? "GET";
    // Frameworks that mount keep the whole path there.
    this.url = (req as { originalUrl?: string }).originalUrl ?? req.url ?? "/";
    this.auth = options?.auth;
    this.principal = options?.principal;
    this.#body = options?.body;
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
    // A body that is announced too large need not be read.
    if (declared > limit) {
      this.#closes = true;
      return onFailure(new BodyTooLarge(limit));
    }
    if (req.readableDidRead) return onFailure(new BodyTaken());
    if (req.destroyed) return onFailure(new BodyIncomplete());
    const stop = (error: unknown) => {
      this.#closes = true;
      req.pause();
      if (body.close()) onFailure(error);
    };
    const body = new IncomingBody(bodies, limit, declared, stop);
    // No listener is taken away again: they go with the request.
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
    // A response that waits behind a pipelined one has no socket yet, and hears nothing of its end.
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
      // Headers go out now, in one piece with what is written in this turn.
      process.nextTick(flush, res);
    }
    return new NodeStream(res, this.stallMs);
  }

  /**
   * Closing at once, while the client still sends, would reset the connection and take the answer with it. So the
   * answer goes out whole, what comes is thrown away for a moment, and then the connection is closed.
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

/** Ends an answer, and cuts off a client that does not read the rest of it. The platform's timer takes any progress for life. */
function end(res: ServerResponse, stallMs: number, body?: string): void {
  res.end(body);
  if (res.writableLength === 0 || stallMs >= LONGEST_DELAY) return;
  res.setTimeout(stallMs, () => res.destroy());
  // The timer is the connection's: an answer that waits behind this one must not inherit it.
  res.prependOnceListener("finish", () => res.setTimeout(0));
}

/** Over HTTP/2 a response counts as finished when its stream is closed, whether it was ended or not. */
function isComplete(res: ServerResponse): boolean {
  return res.writableEnded && res.writableFinished;
}

function flush(res: ServerResponse): void {
  if (!res.destroyed && !res.writableEnded) res.flushHeaders();
}

function toFields(headers: HttpHeaders): string[] {
  const fields: string[] = [];
  for (const name in headers) fields.push(name, headers[name] as string);
  return fields;
}
