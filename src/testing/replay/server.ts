import { type Clock, systemClock } from "../../call/clock.js";
import type { HttpExchange, HttpStream } from "../../http/exchange.js";
import { formatSseEvent, SSE_HEADERS } from "../../http/sse/writer.js";
import { createWebExchange } from "../../http/web-exchange.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import {
  type Conversation,
  conversationOf,
  type RecordedCall,
  type RecordedHttp,
} from "../../recording/conversation.js";
import { RECORDING_LIMITS } from "../../recording/limits.js";
import { type AnyMessage, isRequest, isResponse, paramsOf } from "../../recording/messages.js";
import type { RecordingFile } from "../../recording/reader.js";
import { describeMiss, Matcher, type Miss } from "./matcher.js";
import { type LiveCall, type Outlet, Player } from "./player.js";
import { messagesIn } from "./texts.js";

/** Options of `replayServer`. */
export interface ReplayServerOptions {
  /**
   * `"any"` serves each request by the first recorded one that is equal and unused. `"strict"` demands the recorded order.
   * @default "any"
   */
  readonly order?: "any" | "strict" | undefined;
  /**
   * `"none"` sends without waiting. `"recorded"` waits as the recorded server did, by the clock.
   * @default "none"
   */
  readonly time?: "none" | "recorded" | undefined;
  /**
   * `"check"` compares the client's answers to questions with the recorded ones; `assertDone` reports differences.
   * @default "ignore"
   */
  readonly answers?: "check" | "ignore" | undefined;
  /**
   * `"any"` replays calls in place of frames: a server whose handlers return the recorded results, report the progress and
   * ask the questions. It serves clients of every protocol version; lost answers are errors, and `time` and `answers` have
   * no effect. `"recorded"` serves clients of the recorded version, with the recorded frames.
   * @default "recorded"
   */
  readonly era?: "any" | "recorded" | undefined;
  /** Values that the recording has as `<env:NAME>`, by name. */
  readonly values?: { readonly [name: string]: string | undefined } | undefined;
  /** Clock for `time: "recorded"`. */
  readonly clock?: Clock | undefined;
}

export const REPLAY_SERVER_OPTIONS: Known<ReplayServerOptions> = {
  order: [{ string: ["any", "strict"] }],
  time: [{ string: ["none", "recorded"] }],
  answers: [{ string: ["check", "ignore"] }],
  era: [{ string: ["any", "recorded"] }],
  values: "object",
  clock: "object",
};

/** Server that plays a recording. It can be connected to, served over HTTP, and used as a fetch handler. */
export interface ReplayServer {
  /** Serves a channel. */
  accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }>;
  /** Serves an HTTP exchange. */
  handle(exchange: HttpExchange): void;
  /** Serves a request, as the `fetch` of a server does. Rejects where the recorded response was lost. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Throws if a request was recorded and not sent, or sent and not recorded. Names each with the most similar one. */
  assertDone(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const INTERNAL_ERROR = -32_603;
const METHOD_NOT_FOUND = -32_601;

/** Headers of a response that the live connection sets itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "content-encoding", "content-length", "date", "keep-alive", "transfer-encoding"],
]);

/** Requests of a client that are being served, by id. */
type LiveCalls = Map<unknown, LiveCall>;

/** Creates the server of a recording that was read. */
export class Replay implements ReplayServer {
  readonly #conversation: Conversation;
  readonly #matcher: Matcher;
  readonly #player: Player;
  readonly #usedExchanges = new Set<RecordedHttp>();
  /** Requests over HTTP that are being served, by id. */
  readonly #calls: LiveCalls = new Map();
  readonly #channels = new Set<Channel>();
  readonly #streams = new Set<HttpStream>();

  constructor(file: RecordingFile, options: ReplayServerOptions = {}) {
    assertOptions("replayServer", options, REPLAY_SERVER_OPTIONS);
    const { order, time, answers, values = {}, clock = systemClock } = options;
    this.#conversation = conversationOf(file.events);
    const checksAnswers = answers === "check";
    const isStrict = order === "strict";
    this.#matcher = new Matcher(this.#conversation, file.header, { values, isStrict, checksAnswers });
    this.#player = new Player(this.#conversation, this.#matcher, {
      clock,
      isTimed: time === "recorded",
      checksAnswers,
    });
  }

  async accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }> {
    let tellClosed = () => {};
    const closed = new Promise<void>((resolve) => {
      tellClosed = resolve;
    });
    const outlet: Outlet = { send: (message) => void sendOn(channel, message) };
    const calls: LiveCalls = new Map();
    this.#channels.add(channel);
    const { pushes } = this.#conversation;
    await channel.open({
      onFrame: (text) => {
        for (const message of messagesIn(text)) this.#take(message, channel, outlet, calls);
      },
      onProblem: () => {},
      onClose: () => {
        this.#channels.delete(channel);
        for (const live of calls.values()) live.cancel();
        tellClosed();
      },
    });
    if (pushes.length > 0) void this.#player.push(pushes, outlet, closed, pushes[0]?.t ?? 0);
    return { closed, close: () => channel.close() };
  }

  readonly fetch = (request: Request): Promise<Response> => {
    const { exchange, response } = createWebExchange(request);
    return new Promise((resolve, reject) => {
      response.then(resolve, reject);
      this.#serve(exchange, () => reject(new TypeError("fetch failed: the recorded response was lost")));
    });
  };

  handle(exchange: HttpExchange): void {
    this.#serve(exchange, () => exchange.stream(502, {}).destroy());
  }

  assertDone(): void {
    this.#matcher.assertDone();
  }

  async close(): Promise<void> {
    this.#player.close();
    for (const stream of this.#streams) stream.end();
    await Promise.all([...this.#channels].map((channel) => channel.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Takes a message of a channel. */
  #take(message: AnyMessage, channel: Channel, outlet: Outlet, calls: LiveCalls): void {
    if (!isRequest(message)) return this.#hear(message, calls);
    const found = this.#find(message);
    if (!("steps" in found)) return outlet.send(found, undefined);
    const live = this.#begin(found, message, calls);
    void this.#player.play(live, outlet).then((ending) => {
      end(live, calls);
      // The connection ended before the answer.
      if (ending === "lost") void channel.close();
    });
  }

  /** Hears an answer or a notification. */
  #hear(message: AnyMessage, calls: LiveCalls): void {
    if (isResponse(message)) this.#player.answer(message);
    else if (message.method === "notifications/cancelled") calls.get(paramsOf(message).requestId)?.cancel();
  }

  #begin(call: RecordedCall, request: AnyMessage, calls: LiveCalls): LiveCall {
    const live = this.#player.begin(call, request);
    calls.set(request.id, live);
    return live;
  }

  /** Returns the recorded request, or the response to one for which nothing was recorded. */
  #find(request: AnyMessage): RecordedCall | AnyMessage {
    const found = this.#matcher.find(request);
    if ("steps" in found) return found;
    const { id = null } = request;
    if (request.method === "ping") return { jsonrpc: "2.0", id, result: {} } as AnyMessage;
    const isProbe = request.method === "server/discover" && this.#has("initialize");
    if (isProbe) return failure(id, METHOD_NOT_FOUND, "Method not found");
    this.#matcher.add(found);
    return failure(id, INTERNAL_ERROR, `Replay: ${describeMiss(found)}`, found);
  }

  #has(method: string): boolean {
    return this.#conversation.calls.some(({ request }) => request.method === method);
  }

  #serve(exchange: HttpExchange, lose: () => void): void {
    if (exchange.method === "POST")
      exchange.text(RECORDING_LIMITS.maxLineBytes).then(
        (text) => this.#post(exchange, messagesIn(text), lose),
        () => exchange.reply(400, {}),
      );
    else this.#replyAsRecorded(exchange, exchange.method === "GET" ? 405 : 200, lose);
  }

  #post(exchange: HttpExchange, messages: readonly AnyMessage[], lose: () => void): void {
    const request = messages.find(isRequest);
    if (request === undefined) {
      for (const message of messages) this.#hear(message, this.#calls);
      return this.#replyAsRecorded(exchange, 202, lose, messages[0]?.method);
    }
    const found = this.#find(request);
    if (!("steps" in found)) return exchange.reply(200, { "content-type": "application/json" }, JSON.stringify(found));
    const live = this.#begin(found, request, this.#calls);
    exchange.onGone(live.cancel);
    const recorded = found.exchange;
    if (recorded !== undefined && recorded.response === undefined && recorded.end?.by === "lost") {
      void this.#player.play(live, { send: () => {} }, []);
      return lose();
    }
    void this.#respond(exchange, live, recorded);
  }

  /** Answers a request with its steps: as an event stream if it was one, or if there is more than the result. */
  async #respond(exchange: HttpExchange, live: LiveCall, recorded: RecordedHttp | undefined): Promise<void> {
    const { call } = live;
    const own = recorded === undefined ? call.steps : stepsIn(recorded, call);
    const told = recorded?.response === undefined ? undefined : responseHeaders(recorded);
    const isStream =
      told === undefined
        ? own.some(({ kind }) => kind === "notify" || kind === "ask")
        : told["content-type"]?.startsWith("text/event-stream") === true;
    const headers = told ?? (isStream ? SSE_HEADERS : {});
    const status = recorded?.response?.status ?? 200;
    if (!isStream) {
      let text = recorded?.text;
      const outlet: Outlet = {
        send: (message) => {
          text = JSON.stringify(message);
        },
      };
      const ending = await this.#player.play(live, outlet, own);
      end(live, this.#calls);
      if (ending === "cancelled") return;
      if (ending === "lost") return exchange.stream(status, headers).destroy();
      return exchange.reply(status, { "content-type": "application/json", ...headers }, text);
    }
    const stream = this.#open(exchange, status, headers);
    const ending = await this.#player.play(live, outletOf(stream), own);
    end(live, this.#calls);
    // A stream that ends without its response has lost it. Cutting it would lose what the client has not read yet.
    if (ending !== "never" || recorded?.end !== undefined) stream.end();
  }

  /** Answers an exchange without a request: the next one of its kind that was recorded. */
  #replyAsRecorded(exchange: HttpExchange, status: number, lose: () => void, method?: string): void {
    const recorded = this.#nextExchange(exchange, method);
    const headers = responseHeaders(recorded);
    if (recorded?.response === undefined) {
      if (recorded?.end?.by === "lost") return lose();
      if (exchange.method === "GET" && this.#conversation.exchanges.length === 0) return this.#pushOver(exchange);
      return exchange.reply(status, headers);
    }
    if (headers["content-type"]?.startsWith("text/event-stream") !== true)
      return exchange.reply(recorded.response.status, headers, recorded.text);
    const stream = this.#open(exchange, recorded.response.status, headers);
    const gone = goneOf(exchange);
    void this.#player.push(recorded.steps, outletOf(stream), gone, recorded.t).then((ending) => {
      const isOver = recorded.end !== undefined && recorded.end.by !== "client";
      if (ending !== "cancelled" && isOver) stream.end();
    });
  }

  /** Opens a stream for what the server of a channel sent by itself. */
  #pushOver(exchange: HttpExchange): void {
    const { pushes } = this.#conversation;
    if (pushes.length === 0) return exchange.reply(405, {});
    const stream = this.#open(exchange, 200, SSE_HEADERS);
    void this.#player.push(pushes, outletOf(stream), goneOf(exchange), pushes[0]?.t ?? 0);
  }

  #open(exchange: HttpExchange, status: number, headers: { readonly [name: string]: string }): HttpStream {
    const stream = exchange.stream(status, headers);
    this.#streams.add(stream);
    exchange.onGone(() => this.#streams.delete(stream));
    return stream;
  }

  /** Returns the next recorded exchange without a request, with the same method and the same notification. */
  #nextExchange(exchange: HttpExchange, method: string | undefined): RecordedHttp | undefined {
    const isResume = exchange.header("last-event-id") !== undefined;
    const found = this.#conversation.exchanges.find(
      (each) =>
        !this.#usedExchanges.has(each) &&
        each.method === exchange.method &&
        !each.sent.some(isRequest) &&
        each.sent[0]?.method === method &&
        (each.headers["last-event-id"] !== undefined) === isResume,
    );
    if (found !== undefined) this.#usedExchanges.add(found);
    return found;
  }
}

function end(live: LiveCall, calls: LiveCalls): void {
  if (calls.get(live.id) === live) calls.delete(live.id);
}

/** Returns the steps of a request that its own exchange carried, with the answers and the end between them. */
function stepsIn(exchange: RecordedHttp, call: RecordedCall): RecordedCall["steps"] {
  const carried = new Set(exchange.steps);
  const last = exchange.end?.line ?? Number.POSITIVE_INFINITY;
  const own = call.steps.filter((step) =>
    step.kind === "notify" || step.kind === "ask" || step.kind === "result" ? carried.has(step) : step.line <= last,
  );
  const others = exchange.steps.filter((step) => step.call !== call);
  return [...own, ...others].sort((a, b) => a.line - b.line);
}

function responseHeaders(recorded: RecordedHttp | undefined): { readonly [name: string]: string } {
  const entries = Object.entries(recorded?.response?.headers ?? {});
  return Object.fromEntries(entries.filter(([name]) => !OWN_HEADERS.has(name)));
}

function outletOf(stream: HttpStream): Outlet {
  return {
    send: (message, id) => {
      stream.write(formatSseEvent({ data: JSON.stringify(message), ...(id !== undefined && { id }) }));
    },
  };
}

function goneOf(exchange: HttpExchange): Promise<void> {
  return new Promise((resolve) => exchange.onGone(resolve));
}

async function sendOn(channel: Channel, message: AnyMessage): Promise<void> {
  try {
    await channel.send(JSON.stringify(message));
  } catch {
    // The client has left. `onClose` of the channel tells.
  }
}

function failure(id: AnyMessage["id"], code: number, message: string, miss?: Miss): AnyMessage {
  const data = miss && { line: miss.line, differences: miss.differences };
  return { jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } } as AnyMessage;
}
