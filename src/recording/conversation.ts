import type { EndEvent, RecordedHeaders } from "./events.js";
import {
  type AnyMessage,
  isNotification,
  isRequest,
  isResponse,
  messagesOf,
  paramsOf,
  subscriptionOf,
  tokenOf,
} from "./messages.js";
import type { NumberedEvent } from "./reader.js";

/**
 * What follows a request: the server notifies, asks, responds; the client answers, cancels; the response is lost, or the
 * connection ends.
 */
export interface Step {
  readonly kind: "notify" | "ask" | "answer" | "result" | "cancel" | "lost";
  readonly t: number;
  readonly line: number;
  /** Message of the step. That of a question, for its answer. */
  readonly message: AnyMessage;
  /** Answer of the client, for `answer`. */
  readonly answer?: AnyMessage;
  /** Id of the event that carried the message. */
  readonly eventId?: string | undefined;
  /** Request that the step belongs to. Undefined for what the server sends by itself. */
  readonly call?: RecordedCall | undefined;
}

/** Request of the client, with all that followed. */
export interface RecordedCall {
  readonly t: number;
  readonly line: number;
  readonly c: number;
  readonly request: AnyMessage;
  /** Exchange that carried the request. */
  readonly exchange: RecordedHttp | undefined;
  readonly steps: Step[];
}

/** HTTP exchange: its heads, what its response carried, and its end. */
export interface RecordedHttp {
  readonly t: number;
  readonly line: number;
  readonly c: number;
  readonly x: number;
  readonly method: string;
  readonly path: string;
  readonly headers: RecordedHeaders;
  /** Messages in the body of the request. */
  readonly sent: AnyMessage[];
  response: { readonly t: number; readonly status: number; readonly headers: RecordedHeaders } | undefined;
  readonly steps: Step[];
  /** Body that is no message. */
  text: string | undefined;
  end: { readonly t: number; readonly line: number; readonly by: EndEvent["by"] } | undefined;
}

/** Notification of the client. */
export interface Sent {
  readonly t: number;
  readonly line: number;
  readonly c: number;
  readonly message: AnyMessage;
}

/** What was said in a recording, by request and by exchange. */
export interface Conversation {
  readonly calls: readonly RecordedCall[];
  readonly exchanges: readonly RecordedHttp[];
  /** Messages of the server that belong to no request. */
  readonly pushes: readonly Step[];
  readonly sent: readonly Sent[];
}

/** Methods whose requests wait for events, so that a question of the server does not belong to them. */
const WAITING: ReadonlySet<string | undefined> = new Set(["subscriptions/listen", "ping"]);

/** Reads the events of a recording as a conversation. */
export function conversationOf(events: readonly NumberedEvent[]): Conversation {
  const reading = new Reading();
  for (const event of events) reading.take(event);
  return reading;
}

/** Request or question, by connection and id. */
const keyOf = (c: number, id: unknown) => `${c} ${typeof id} ${String(id)}`;

class Reading implements Conversation {
  readonly calls: RecordedCall[] = [];
  readonly exchanges: RecordedHttp[] = [];
  readonly pushes: Step[] = [];
  readonly sent: Sent[] = [];
  /** Calls without a result. */
  readonly #open = new Map<string, RecordedCall>();
  readonly #byToken = new Map<string, RecordedCall>();
  readonly #asked = new Map<string, Step>();
  readonly #byNumber = new Map<number, RecordedHttp>();

  take(event: NumberedEvent): void {
    switch (event.k) {
      case "request": {
        const { t, line, c, x, method, path, headers } = event;
        const own = { sent: [], response: undefined, steps: [], text: undefined, end: undefined };
        const exchange: RecordedHttp = { t, line, c, x, method, path, headers, ...own };
        this.exchanges.push(exchange);
        this.#byNumber.set(x, exchange);
        return;
      }
      case "response": {
        const exchange = this.#byNumber.get(event.x);
        if (exchange !== undefined) exchange.response = { t: event.t, status: event.status, headers: event.headers };
        return;
      }
      case "end":
        return this.#end(event);
      case "close":
        for (const call of this.#open.values() as Iterable<RecordedCall>)
          if (call.c === event.c) this.#add(call, event.error === undefined ? "cancel" : "lost", event, call.request);
        return;
      case "frame":
        return this.#frame(event);
    }
  }

  #frame(event: Extract<NumberedEvent, { readonly k: "frame" }>): void {
    const exchange = event.x === undefined ? undefined : this.#byNumber.get(event.x);
    const messages = messagesOf(event);
    if (messages.length === 0 && exchange !== undefined && event.d === "<") exchange.text = event.raw;
    for (const message of messages)
      if (event.d === ">") this.#fromClient(event, message, exchange);
      else this.#fromServer(event, message, exchange);
  }

  #fromClient(
    event: NumberedEvent & { readonly c: number },
    message: AnyMessage,
    exchange: RecordedHttp | undefined,
  ): void {
    exchange?.sent.push(message);
    const { c, t, line } = event;
    if (isRequest(message)) {
      const call: RecordedCall = { t, line, c, request: message, exchange, steps: [] };
      this.calls.push(call);
      this.#open.set(keyOf(c, message.id), call);
      const token = tokenOf(message);
      if (token !== undefined) this.#byToken.set(keyOf(c, token), call);
    } else if (isResponse(message)) {
      const question = this.#asked.get(keyOf(c, message.id));
      if (question === undefined) return;
      const step: Step = { kind: "answer", t, line, message: question.message, answer: message, call: question.call };
      (question.call?.steps ?? this.pushes).push(step);
    } else {
      this.sent.push({ t, line, c, message });
      if (message.method !== "notifications/cancelled") return;
      const call = this.#open.get(keyOf(c, paramsOf(message).requestId));
      if (call !== undefined) this.#add(call, "cancel", event, message);
    }
  }

  #fromServer(
    event: Extract<NumberedEvent, { readonly k: "frame" }>,
    message: AnyMessage,
    exchange: RecordedHttp | undefined,
  ): void {
    const { c, t, line, id: eventId } = event;
    const kind = isRequest(message) ? "ask" : isNotification(message) ? "notify" : "result";
    const call: RecordedCall | undefined =
      kind === "result" ? this.#answered(c, message, exchange) : this.#ownerOf(c, message, exchange);
    const step: Step = { kind, t, line, message, eventId, call };
    if (kind === "ask") this.#asked.set(keyOf(c, message.id), step);
    exchange?.steps.push(step);
    if (call !== undefined) call.steps.push(step);
    else if (kind !== "result") this.pushes.push(step);
  }

  /** Returns the call that a response ends. One without an id answers the only request of its exchange. */
  #answered(c: number, message: AnyMessage, exchange: RecordedHttp | undefined): RecordedCall | undefined {
    const key = keyOf(c, message.id ?? exchange?.sent.find(isRequest)?.id);
    const call = this.#open.get(key);
    this.#open.delete(key);
    return call;
  }

  #ownerOf(c: number, message: AnyMessage, exchange: RecordedHttp | undefined): RecordedCall | undefined {
    const token = paramsOf(message).progressToken;
    if (token !== undefined) return this.#byToken.get(keyOf(c, token));
    const subscription = subscriptionOf(message);
    if (subscription !== undefined) return this.#open.get(keyOf(c, subscription));
    if (exchange !== undefined) return this.#open.get(keyOf(c, exchange.sent.find(isRequest)?.id));
    // On a channel, a question or log message belongs to the call that began last.
    if (!isRequest(message) && message.method !== "notifications/message") return undefined;
    const isCandidate = (call: RecordedCall) => call.c === c && !WAITING.has(call.request.method);
    return [...this.#open.values()].reverse().find(isCandidate);
  }

  /** Ends an exchange. What it has not answered is cancelled, if the client ended it, or else lost. */
  #end(event: Extract<NumberedEvent, { readonly k: "end" }>): void {
    const exchange = this.#byNumber.get(event.x);
    if (exchange === undefined) return;
    exchange.end = { t: event.t, line: event.line, by: event.by };
    for (const message of exchange.sent) {
      const call: RecordedCall | undefined = isRequest(message)
        ? this.#open.get(keyOf(exchange.c, message.id))
        : undefined;
      if (call?.exchange === exchange) this.#add(call, event.by === "client" ? "cancel" : "lost", event, message);
    }
  }

  #add(call: RecordedCall, kind: Step["kind"], { t, line }: NumberedEvent, message: AnyMessage): void {
    // A call that was cancelled has lost nothing.
    if (call.steps.some((step) => step.kind === "cancel")) return;
    call.steps.push({ kind, t, line, message, call });
  }
}
