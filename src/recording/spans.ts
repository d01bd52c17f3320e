import { isObject } from "../protocol/json.js";
import { conversationOf, type RecordedCall, type Step } from "./conversation.js";
import type { OutcomeEvent, RecordedFailure } from "./events.js";
import { type AnyMessage, paramsOf } from "./messages.js";
import type { NumberedEvent } from "./reader.js";
import { questionsIn, type Rounds, resultOf, roundsOf } from "./rounds.js";

/** Row of a timeline. */
export type SpanLane = "session" | "calls" | "tasks" | "watch" | "auth" | "stderr";

/** How a span ended. A span that is `open` had not ended when the recording did. */
export type SpanState = "ok" | "error" | "cancelled" | "lost" | "open";

/** Moment of a span. */
export interface SpanMark {
  readonly t: number;
  readonly line: number;
  readonly kind: "progress" | "question" | "answer" | "cancel" | "lost" | "change" | "log" | "fault";
  readonly text: string;
}

/** What lasted from one moment to another: a call with all its rounds, a subscription, an authorization step, a text. */
export interface Span {
  /** Line of its first event. */
  readonly line: number;
  readonly c: number;
  readonly lane: SpanLane;
  readonly method: string | undefined;
  /** Name, URI or task that it is about. */
  readonly name: string | undefined;
  readonly from: number;
  readonly to: number;
  readonly state: SpanState;
  /** Lines of its messages. */
  readonly lines: readonly number[];
  readonly marks: readonly SpanMark[];
  /** Requests of a call that was repeated to answer questions. */
  readonly rounds: readonly { readonly from: number; readonly to: number }[];
  /** Characters of its messages. */
  readonly size: number;
  /** Failure of the call for its caller, if it failed and the recorder knew. */
  readonly error: RecordedFailure | undefined;
}

/** Derives the spans of a recording, in the order of their beginnings. */
export function spansOf(events: readonly NumberedEvent[]): readonly Span[] {
  const end = events.reduce((last, { t }) => Math.max(last, t), 0);
  const outcomes = events.filter((event): event is OutcomeEvent & NumberedEvent => event.k === "outcome");
  const spans = roundsOf(conversationOf(events).calls).map((rounds) => callSpan(rounds, end, outcomes));
  for (const event of events) {
    const span = textSpan(event);
    if (span !== undefined) spans.push(span);
    if (event.k === "fault") markFault(spans, event);
  }
  return spans.sort((a, b) => a.from - b.from || a.line - b.line);
}

type OwnSpan = Span & { readonly marks: SpanMark[] };

function callSpan({ first, calls }: Rounds, end: number, outcomes: OutcomeEvent[]): OwnSpan {
  const { request, c, t: from, line } = first;
  const last = calls.at(-1) as RecordedCall;
  const steps = calls.flatMap((call) => call.steps);
  const name = nameOf(request);
  const at = outcomes.findIndex((each) => isOutcomeOf(each, first, name));
  const error = at === -1 ? undefined : outcomes.splice(at, 1)[0]?.error;
  const lane = laneOf(request.method ?? "");
  const state = stateOf(last, lane);
  return {
    line,
    c,
    lane,
    method: request.method,
    name,
    from,
    to: state === "open" ? end : (last.steps.at(-1)?.t ?? last.t),
    state,
    lines: [...new Set([...calls.map((call) => call.line), ...steps.map((step) => step.line)])].sort((a, b) => a - b),
    marks: steps.flatMap(marksOf).sort((a, b) => a.t - b.t),
    rounds: calls.map((call) => ({ from: call.t, to: call.steps.at(-1)?.t ?? call.t })),
    size: [...calls.map((call) => call.request), ...steps.map(({ message, answer }) => answer ?? message)].reduce(
      (sum, message) => sum + JSON.stringify(message).length,
      0,
    ),
    error,
  };
}

function isOutcomeOf(outcome: OutcomeEvent, { c, t, request }: RecordedCall, name: string | undefined): boolean {
  return (
    outcome.c === c && outcome.method === request.method && outcome.name === name && outcome.from <= t && t <= outcome.t
  );
}

function stateOf(call: RecordedCall, lane: SpanLane): SpanState {
  const result = resultOf(call);
  if (result !== undefined) {
    const { message } = result;
    if (questionsIn(result).length > 0) return "open";
    return message.error !== undefined || message.result?.isError === true ? "error" : "ok";
  }
  const ending = call.steps.findLast(({ kind }) => kind === "cancel" || kind === "lost");
  if (ending === undefined) return "open";
  if (ending.kind === "lost") return "lost";
  // A client ends a subscription by cancelling it.
  return lane === "watch" ? "ok" : "cancelled";
}

function laneOf(method: string): SpanLane {
  if (/listen$|subscribe$/.test(method)) return "watch";
  if (method.startsWith("tasks/")) return "tasks";
  return /^(?:initialize|server\/discover|ping|logging\/)/.test(method) ? "session" : "calls";
}

function marksOf({ kind, t, line, message, answer }: Step): readonly SpanMark[] {
  const mark = (of: SpanMark["kind"], text: string): SpanMark => ({ t, line, kind: of, text });
  const params = paramsOf(message);
  switch (kind) {
    case "ask":
      return [mark("question", textIn(params.message) ?? message.method ?? "")];
    case "answer":
      return [mark("answer", textIn(answer?.result?.action) ?? (answer?.error === undefined ? "answered" : "error"))];
    case "cancel":
      return [mark("cancel", textIn(params.reason) ?? "")];
    case "lost":
      return [mark("lost", "")];
    case "result":
      return questionsIn({ kind, t, line, message }).map(({ method, params: asked }) =>
        mark("question", (isObject(asked) ? textIn(asked.message) : undefined) ?? method),
      );
    case "notify": {
      const text = [params.message, params.uri, params.data].map(textIn).find((each) => each !== undefined) ?? "";
      if (message.method === "notifications/progress") return [mark("progress", text)];
      return [mark(message.method === "notifications/message" ? "log" : "change", text)];
    }
  }
}

/** Returns the span of what stands beside messages: text of the server's process, steps of authorization. */
function textSpan(event: NumberedEvent): OwnSpan | undefined {
  const { t, line } = event;
  const own = { line, name: undefined, from: t, to: t, lines: [line], marks: [], rounds: [], error: undefined };
  switch (event.k) {
    case "stderr":
    case "noise": {
      const state = event.k === "noise" ? "error" : "ok";
      return { ...own, c: event.c, lane: "stderr", method: event.text, state, size: event.text.length };
    }
    case "auth": {
      const { c = 0, step, url, us = 0, status, error } = event;
      const isGood = error === undefined && status !== undefined && status < 400;
      return {
        ...own,
        c,
        lane: "auth",
        method: step,
        name: url,
        from: t - us,
        state: isGood ? "ok" : "error",
        size: 0,
      };
    }
    default:
      return undefined;
  }
}

/** Marks a fault on the call that was in progress. */
function markFault(spans: readonly OwnSpan[], event: Extract<NumberedEvent, { readonly k: "fault" }>): void {
  const { t, line, what, c } = event;
  const span = spans.findLast(
    (each) =>
      each.method !== undefined &&
      each.lane !== "stderr" &&
      (c === undefined || each.c === c) &&
      each.from <= t &&
      t <= each.to,
  );
  span?.marks.push({ t, line, kind: "fault", text: what });
}

function nameOf(request: AnyMessage): string | undefined {
  const { name, uri, taskId } = paramsOf(request);
  return [name, uri, taskId].map(textIn).find((each) => each !== undefined);
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
