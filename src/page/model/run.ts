import { isObject } from "../../protocol/json.js";
import type { OpenEvent, RecordingHeader } from "../../recording/events.js";
import { type AnyMessage, messagesOf, paramsOf } from "../../recording/messages.js";
import type { NumberedEvent } from "../../recording/reader.js";
import { type Span, spansOf } from "../../recording/spans.js";
import { loginOf } from "./login.js";
import { labelOf } from "./text.js";

/** Connection of a run, with what its messages tell of both sides. */
export interface Connection {
  readonly c: number;
  readonly open: OpenEvent;
  readonly server: string | undefined;
  readonly serverVersion: string | undefined;
  /** Version of the protocol, as the messages name it. */
  readonly version: string | undefined;
}

/** Question to the user. */
export interface Question {
  readonly c: number;
  readonly n: number;
  readonly t: number;
  readonly line: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** True until it is answered, or its connection ends. */
  readonly isOpen: boolean;
}

/** Recording as the page shows it: its events, and what is derived from them. */
export class Run {
  readonly spans: readonly Span[];
  /** Time of the last event. */
  readonly end: number;
  readonly connections: readonly Connection[];
  readonly questions: readonly Question[];
  readonly #byLine = new Map<number, NumberedEvent>();
  readonly #byId = new Map<number, Span>();

  constructor(
    /** Name of the file, or of the server. */
    readonly name: string,
    readonly header: RecordingHeader | undefined,
    readonly events: readonly NumberedEvent[],
  ) {
    // A challenge has an error status, and is how a login begins.
    const good = new Set(
      loginOf(events)
        .filter(({ state }) => state === "ok")
        .map(({ event }) => event.line),
    );
    const spans = spansOf(events);
    this.spans = good.size === 0 ? spans : spans.map((span) => (good.has(span.line) ? { ...span, state: "ok" } : span));
    this.end = events.reduce((last, { t }) => Math.max(last, t), 0);
    for (const event of events) this.#byLine.set(event.line, event);
    for (const span of this.spans) this.#byId.set(span.line, span);
    this.connections = connectionsIn(events);
    this.questions = questionsOf(events);
  }

  eventAt(line: number): NumberedEvent | undefined {
    return this.#byLine.get(line);
  }

  /** Returns the span whose first event is at the line. */
  spanAt(line: number | undefined): Span | undefined {
    return line === undefined ? undefined : this.#byId.get(line);
  }

  connection(c: number): Connection | undefined {
    return this.connections.find((each) => each.c === c);
  }

  /** Returns the open questions of a call. */
  questionsIn(span: Span): readonly Question[] {
    const open = this.questions.filter((each) => each.isOpen && each.c === span.c);
    return open.filter((question) => this.spanOf(question) === span);
  }

  /** Returns the call that a question belongs to: the last one that was asked the same before. */
  spanOf({ c, t, method, params }: Question): Span | undefined {
    const text = typeof params.message === "string" ? params.message : method;
    return this.spans.findLast(
      (span) =>
        span.c === c && span.marks.some((mark) => mark.kind === "question" && mark.t <= t && mark.text === text),
    );
  }
}

/** Returns the spans whose label contains each word of a filter. `state:failed` and the like choose by state. */
export function filtered(spans: readonly Span[], filter: string): readonly Span[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return spans;
  return spans.filter((span) => {
    const text = `${labelOf(span)} ${span.method ?? ""} state:${span.state} lane:${span.lane} ${span.error?.code ?? ""}`;
    return words.every((word) => text.toLowerCase().includes(word));
  });
}

/** Periods of a call in which the user is asked, or the answer is on its way. */
export function waitsOf(span: Span): readonly { readonly from: number; readonly to: number }[] {
  const ends = [
    ...span.marks.filter(({ kind }) => kind === "answer").map(({ t }) => t),
    ...span.rounds.map(({ from }) => from),
  ].sort((a, b) => a - b);
  const waits: { from: number; to: number }[] = [];
  for (const { kind, t } of span.marks) {
    if (kind !== "question" || (waits.at(-1)?.to ?? -1) > t) continue;
    waits.push({ from: t, to: ends.find((end) => end > t) ?? span.to });
  }
  return waits;
}

/** State of a call for a reader: one that is in progress may wait for the user. */
export function stateOf(span: Span): Span["state"] | "asked" {
  const isAsked = span.state === "open" && (waitsOf(span).at(-1)?.to ?? -1) >= span.to;
  return isAsked ? "asked" : span.state;
}

/** Returns messages with the events that carry them, in their order. */
export function* messagesIn(events: Iterable<NumberedEvent>): Generator<{
  readonly event: Extract<NumberedEvent, { readonly k: "frame" }>;
  readonly message: AnyMessage;
}> {
  for (const event of events)
    if (event.k === "frame") for (const message of messagesOf(event)) yield { event, message };
}

const META = "io.modelcontextprotocol/";

function connectionsIn(events: readonly NumberedEvent[]): readonly Connection[] {
  const all = new Map<number, { -readonly [K in keyof Connection]: Connection[K] }>();
  for (const event of events) {
    if (event.k === "open")
      all.set(event.c, {
        c: event.c,
        open: event,
        server: event.server?.name,
        serverVersion: undefined,
        version: undefined,
      });
    const connection = "c" in event && event.c !== undefined ? all.get(event.c) : undefined;
    if (connection === undefined) continue;
    const isKnown = connection.version !== undefined && connection.serverVersion !== undefined;
    if (event.k !== "frame" || isKnown) continue;
    for (const message of messagesOf(event)) {
      const result = isObject(message.result) ? message.result : {};
      const meta = metaOf(paramsOf(message));
      const version = result.protocolVersion ?? meta[`${META}protocolVersion`];
      if (typeof version === "string") connection.version = version;
      const server = result.serverInfo ?? metaOf(result)[`${META}serverInfo`];
      if (!isObject(server)) continue;
      const { name, version: own } = server as { readonly name?: unknown; readonly version?: unknown };
      connection.server = String(name);
      connection.serverVersion = String(own);
    }
  }
  return [...all.values()];
}

function metaOf(value: { readonly [key: string]: unknown }): { readonly [key: string]: unknown } {
  return isObject(value._meta) ? (value._meta as { readonly [key: string]: unknown }) : {};
}

function questionsOf(events: readonly NumberedEvent[]): readonly Question[] {
  const all = new Map<string, { -readonly [K in keyof Question]: Question[K] }>();
  for (const event of events) {
    if (event.k === "ask") {
      const { c, n, t, line, method, params } = event;
      const own = isObject(params) ? (params as Readonly<Record<string, unknown>>) : {};
      all.set(`${c} ${n}`, { c, n, t, line, method, params: own, isOpen: true });
    } else if (event.k === "answer") {
      const question = all.get(`${event.c} ${event.n}`);
      if (question !== undefined) question.isOpen = false;
    } else if (event.k === "close") {
      for (const question of all.values()) if (question.c === event.c) question.isOpen = false;
    }
  }
  return [...all.values()];
}
