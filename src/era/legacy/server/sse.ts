// The modern era has no such file: HTTP+SSE is the transport of 2024-11-05.

import { type Clock, timeLeft } from "../../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../../call/deadline-queue.js";
import { BodiesFull, BodyFailure } from "../../../http/body-failure.js";
import type { HttpExchange } from "../../../http/exchange.js";
import { isJson } from "../../../http/headers.js";
import { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import { ConnectionError } from "../../../protocol/errors.js";
import type { Channel, ChannelEvents } from "../../../protocol/jsonrpc/channel.js";
import { PARSE_ERROR } from "../../../protocol/jsonrpc/errors.js";
import { parseFrame } from "../../../protocol/jsonrpc/parse.js";
import { refuse, refuseFailed } from "../../refuse.js";
import type { AcceptChannel, CallOrigin, ServerEra, ServerRuntime } from "../../server-era.js";
import { pathOf } from "../../sse-paths.js";
import { sseDeprecation } from "../deprecations.js";
import type { BindingOptions } from "./binding-options.js";
import { keepOrigin } from "./kept-client.js";
import { invalidRequest, refusal, sessionNotFound, tooManyItems } from "./refusals.js";
import type { SessionTable } from "./session-table.js";

/** Context of an {@link SseEndpoint}. */
export interface SseContext {
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly options: BindingOptions;
  readonly accept: AcceptChannel;
  readonly keepAlive: KeepAlive<SseConnection>;
  readonly paths: { readonly stream: string; readonly messages: string };
  /** Table in which sessions of all kinds reserve their places. */
  readonly table: Pick<SessionTable, "reserve" | "free">;
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * HTTP+SSE, the transport of 2024-11-05: one stream from the server, and POSTs to a URL that the stream announces
 * first. The session ends with its stream.
 * @deprecated by SEP-2596; may be removed three months after SEP-2596 is final.
 */
export class SseEndpoint {
  readonly #context: SseContext;
  readonly #sessions = new Map<string, SseSession>();
  /** Ends sessions whose clients have sent nothing. */
  readonly #setup: DeadlineQueue<SseSession>;

  constructor(context: SseContext) {
    const { clock, limits } = context.runtime;
    this.#context = context;
    this.#setup = new DeadlineQueue(clock, limits.sessionSetupMs, (session) => void session.close());
    context.runtime.deprecated?.(sseDeprecation);
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Answers an exchange on one of the two paths. */
  serve(exchange: HttpExchange): void {
    const toMessages = pathOf(exchange.url).endsWith(pathOf(this.#context.paths.messages));
    if (toMessages) this.#postMessage(exchange);
    else this.#openStream(exchange);
  }

  #openStream(exchange: HttpExchange): void {
    if (exchange.method !== "GET") return this.#notAllowed(exchange, "GET");
    const { runtime, era, accept, table } = this.#context;
    const { principal } = exchange;
    const full = table.reserve(principal, exchange, exchange);
    if (full !== undefined) return refuse(exchange, runtime, full);
    const id = crypto.randomUUID();
    const session = new SseSession(exchange, this.#context, () => {
      session.setup?.leave();
      this.#sessions.delete(id);
      table.free(principal, exchange);
      runtime.onSessionEnd?.(id);
    });
    session.setup = this.#setup.add(session);
    this.#sessions.set(id, session);
    session.announce(this.#addressFor(exchange, id));
    accept(era, session, () => session.originOf(id)).catch((error: unknown) => {
      runtime.report(error, { where: "http" });
      return session.close();
    });
  }

  #postMessage(exchange: HttpExchange): void {
    if (exchange.method !== "POST") return this.#notAllowed(exchange, "POST");
    const { runtime } = this.#context;
    const id = new URLSearchParams(exchange.url.split("?", 2)[1]).get("sessionId");
    if (id === null || !SESSION_ID.test(id))
      return refuse(exchange, runtime, invalidRequest("the query parameter sessionId is missing or malformed"));
    const session = this.#find(id, exchange);
    if (session === undefined) return refuse(exchange, runtime, sessionNotFound);
    if (!isJson(exchange.header("content-type"))) return refuse(exchange, runtime, notJson);
    exchange
      .text(runtime.limits.maxBodyBytes, runtime.bodies)
      .then((text) => this.#take(exchange, id, text))
      .catch((error: unknown) => this.#onBodyFailure(exchange, error));
  }

  #take(exchange: HttpExchange, id: string, text: string): void {
    const { runtime } = this.#context;
    const session = this.#find(id, exchange);
    if (session === undefined) return refuse(exchange, runtime, sessionNotFound);
    const parsed = parseFrame(text);
    if (parsed.kind === "invalid") {
      const { code, message, answer, id: faulty } = parsed.failure;
      return refuse(exchange, runtime, { status: 400, error: { code, message } }, answer ? undefined : faulty);
    }
    const { maxBatchItems } = runtime.limits;
    if (parsed.kind === "batch" && parsed.items.length > maxBatchItems) {
      return refuse(exchange, runtime, invalidRequest(tooManyItems(parsed.items, maxBatchItems)));
    }
    if (this.#context.options.admits?.(exchange, parsed) === false) return;
    if (!session.hasRoomFor(text)) return refuse(exchange, runtime, notOpenYet);
    exchange.reply(202, {});
    session.take(text, exchange);
  }

  /** Returns the session with this id if it belongs to the principal of the exchange. */
  #find(id: string, { principal }: HttpExchange): SseSession | undefined {
    const session = this.#sessions.get(id);
    return session !== undefined && session.principal === principal ? session : undefined;
  }

  /** Returns the URL to which the client posts. It gets the same prefix as the path of the stream. */
  #addressFor(exchange: HttpExchange, id: string): string {
    const { stream, messages } = this.#context.paths;
    const prefix = pathOf(exchange.url).slice(0, -stream.length);
    return `${prefix}${messages}${messages.includes("?") ? "&" : "?"}sessionId=${id}`;
  }

  #onBodyFailure(exchange: HttpExchange, error: unknown): void {
    const { runtime } = this.#context;
    if (!(error instanceof BodyFailure)) return refuseFailed(exchange, runtime, error);
    const { status, message } = error;
    if (status === undefined) return;
    if (error instanceof BodiesFull)
      return refuse(exchange, runtime, runtime.busy(503, "maxBodiesBytes", message).refusal);
    if (status === 400) return refuse(exchange, runtime, { status, error: { code: PARSE_ERROR, message } });
    refuse(exchange, runtime, refusal(status, message));
  }

  #notAllowed(exchange: HttpExchange, allow: string): void {
    refuse(exchange, this.#context.runtime, refusal(405, `Method not allowed: ${exchange.method}`, { allow }));
  }
}

const notJson = refusal(415, "Content-Type must be application/json");

const notOpenYet = refusal(503, "The session is still being opened", { "retry-after": "1" });

/** Session of HTTP+SSE as a channel: frames leave as events and arrive as POSTs. */
class SseSession implements Channel {
  /** Entry in the queue of sessions that wait for their first message. */
  setup: Deadline<SseSession> | undefined;
  readonly principal: string | undefined;
  readonly #clock: Clock;
  readonly #connection: SseConnection;
  readonly #onEnd: () => void;
  #events: ChannelEvents | undefined;
  /** Messages that were posted before the channel was opened. */
  #early: [text: string, exchange: HttpExchange][] = [];
  readonly #maxEarlyChars: number;
  /** Origin of the latest message, without its body. */
  #latest: CallOrigin;
  #old: unknown;
  #ended: { readonly reason: Error | undefined } | undefined;

  constructor(exchange: HttpExchange, { runtime, keepAlive }: SseContext, onEnd: () => void) {
    const { clock, limits } = runtime;
    const onGone = () => this.#end(new ConnectionError("The client closed its stream", { delivery: "sent" }));
    this.#clock = clock;
    this.principal = exchange.principal;
    this.#latest = keepOrigin(exchange);
    this.#maxEarlyChars = limits.maxBodyBytes;
    this.#onEnd = onEnd;
    this.#connection = new SseConnection(exchange, { clock, keepAlive, limits, onGone });
  }

  /** Sends the URL for POSTs. From now on, the session ends when its authorization expires. */
  announce(address: string): void {
    this.#connection.write({ event: "endpoint", data: address });
    this.#limitAge();
  }

  /** Returns the origin of the latest message. Each message has its own origin, which is not mixed with others. */
  originOf(sessionId: string): CallOrigin {
    const latest = this.#latest;
    return { ...keepOrigin(latest), sessionId, header: (name) => latest.header?.(name) };
  }

  /** True if the message can be accepted. Before the channel is open, messages wait, up to the size of one body. */
  hasRoomFor(text: string): boolean {
    if (this.#events !== undefined) return true;
    return this.#early.reduce((sum, [{ length }]) => sum + length, text.length) <= this.#maxEarlyChars;
  }

  take(text: string, exchange: HttpExchange): void {
    this.setup?.leave();
    if (this.#events === undefined) this.#early.push([text, exchange]);
    else {
      this.#latest = exchange;
      this.#events.onFrame(text);
      this.#latest = keepOrigin(exchange);
    }
  }

  open(events: ChannelEvents): void {
    this.#events = events;
    if (this.#ended !== undefined) events.onClose(this.#ended.reason);
    for (const [text, exchange] of this.#early.splice(0)) this.take(text, exchange);
  }

  send(text: string): void | Promise<void> {
    this.#connection.write({ event: "message", data: text });
    return this.#connection.drained;
  }

  async close(): Promise<void> {
    this.#connection.end();
    this.#end(undefined);
  }

  /**
   * Ends the session when the authorization of the latest message expires. A later message with a new authorization
   * extends it.
   */
  #limitAge(): void {
    const lifeMs = timeLeft(this.#clock, this.#latest.endsAt);
    if (lifeMs === undefined) return;
    if (lifeMs === 0) this.close();
    else this.#old = this.#clock.schedule(() => this.#limitAge(), lifeMs);
  }

  #end(reason: Error | undefined): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    this.#clock.cancel(this.#old);
    this.#onEnd();
    this.#events?.onClose(reason);
  }
}
