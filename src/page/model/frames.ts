import { isObject } from "../../protocol/json.js";
import { messageOf, type ResponseEvent } from "../../recording/events.js";
import { type AnyMessage, messagesOf, paramsOf } from "../../recording/messages.js";
import type { NumberedEvent } from "../../recording/reader.js";
import type { Span } from "../../recording/spans.js";
import type { Run } from "./run.js";
import { firstLine } from "./text.js";

/** Line of the detail of a call: a message, or what happened to its connection. */
export interface FrameRow {
  readonly line: number;
  readonly t: number;
  /** `>` to the server, `<` to the client. Undefined for what is no message. */
  readonly d: ">" | "<" | undefined;
  readonly kind: FrameKind;
  readonly text: string;
  /** HTTP exchange of the message, such as `POST 5`. */
  readonly exchange: string | undefined;
  readonly http: HttpHead | undefined;
  /** Message without what repeats on each message, and that part. */
  readonly body: unknown;
  readonly envelope: unknown;
  readonly size: number;
}

export type FrameKind =
  | "request"
  | "result"
  | "error"
  | "asks"
  | "answer"
  | "progress"
  | "notification"
  | "cancel"
  | "end"
  | "fault"
  | "text";

/** Heads of an HTTP exchange. */
export interface HttpHead {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number | undefined;
  readonly responseHeaders: Readonly<Record<string, string>>;
}

/** Returns the lines of a span's detail. */
export function framesOf(run: Run, span: Span): readonly FrameRow[] {
  const faults = span.marks.filter(({ kind }) => kind === "fault").map(({ line }) => line);
  const lines = [...new Set([...span.lines, ...faults])].sort((a, b) => a - b);
  const heads = headsOf(run, lines);
  return lines.flatMap((line) => {
    const event = run.eventAt(line);
    return event === undefined ? [] : rowsOf(event, heads);
  });
}

type Heads = ReadonlyMap<number, HttpHead>;

/** Returns the heads of the exchanges that carry the messages of some lines. */
function headsOf(run: Run, lines: readonly number[]): Heads {
  const wanted = new Set<number>();
  for (const line of lines) {
    const event = run.eventAt(line);
    if (event?.k === "frame" && event.x !== undefined) wanted.add(event.x);
  }
  const heads = new Map<number, HttpHead>();
  if (wanted.size === 0) return heads;
  for (const event of run.events) {
    if (event.k === "request" && wanted.has(event.x)) {
      const { x, method, path, headers } = event;
      heads.set(x, { method, path, headers, status: undefined, responseHeaders: {} });
    } else if (event.k === "response" && wanted.has(event.x)) {
      const { x, status, headers } = event satisfies ResponseEvent;
      const head = heads.get(x);
      if (head !== undefined) heads.set(x, { ...head, status, responseHeaders: headers });
    }
  }
  return heads;
}

function rowsOf(event: NumberedEvent, heads: Heads): readonly FrameRow[] {
  const { t, line } = event;
  const plain = { line, t, d: undefined, exchange: undefined, http: undefined, envelope: undefined };
  switch (event.k) {
    case "frame": {
      const head = event.x === undefined ? undefined : heads.get(event.x);
      const exchange = head === undefined ? undefined : `${head.method} ${event.x}`;
      const own = { line, t, d: event.d, exchange, http: head };
      const messages = messagesOf(event);
      if (messages.length === 0) {
        const raw = event.raw ?? JSON.stringify(messageOf(event));
        return [{ ...own, kind: "text", text: firstLine(raw), body: raw, envelope: undefined, size: raw.length }];
      }
      return messages.map((message) => ({
        ...own,
        ...describe(message, event.d),
        ...fold(message),
        size: sizeOf(message),
      }));
    }
    case "end": {
      const by = {
        client: "the client closed the request",
        server: "the server ended the response",
        lost: "the connection was lost",
      };
      return [
        {
          ...plain,
          kind: "end",
          text: `${by[event.by]}${event.error === undefined ? "" : `: ${event.error}`}`,
          body: undefined,
          size: 0,
        },
      ];
    }
    case "close":
      return [
        {
          ...plain,
          kind: "end",
          text: `the connection ended${event.error === undefined ? "" : `: ${event.error}`}`,
          body: undefined,
          size: 0,
        },
      ];
    case "fault":
      return [{ ...plain, kind: "fault", text: `fault: ${event.what}`, body: undefined, size: 0 }];
    case "stderr":
    case "noise":
      return [{ ...plain, kind: "text", text: firstLine(event.text), body: event.text, size: event.text.length }];
    case "auth": {
      const { k: _, line: _line, t: _t, ...body } = event;
      return [{ ...plain, kind: "text", text: `${event.step} ${event.status ?? event.error ?? ""}`, body, size: 0 }];
    }
    default:
      return [];
  }
}

const sizeOf = (message: AnyMessage) => JSON.stringify(message).length;

/** Tells in a line what a message says. */
export function describe(message: AnyMessage, d: ">" | "<"): Pick<FrameRow, "kind" | "text"> {
  const { method, error, result } = message;
  const params = paramsOf(message);
  if (method === "notifications/progress") {
    const { progress, total, message: text } = params;
    const share = total === undefined ? `${progress}` : `${progress} of ${total}`;
    return { kind: "progress", text: `progress ${share}${typeof text === "string" ? `  ${text}` : ""}` };
  }
  if (method === "notifications/cancelled")
    return { kind: "cancel", text: `cancelled${typeof params.reason === "string" ? `: ${params.reason}` : ""}` };
  if (method !== undefined && d === "<" && message.id !== undefined)
    return { kind: "asks", text: `asks: ${textOf(params.message) ?? method}` };
  if (method !== undefined) {
    const about = [params.name, params.uri, params.taskId].find((each) => typeof each === "string");
    const answers = params.inputResponses === undefined ? "" : "  with answers";
    return {
      kind: message.id === undefined ? "notification" : "request",
      text: `${method}${about === undefined ? "" : `  ${about}`}${answers}`,
    };
  }
  if (error !== undefined) return { kind: "error", text: `error ${error.code}: ${error.message}` };
  if (d === ">")
    return { kind: "answer", text: `answer: ${textOf(result?.action) ?? ""} ${brief(result?.content)}`.trim() };
  const asked = isObject(result?.inputRequests) ? Object.values(result.inputRequests) : [];
  if (asked.length > 0) {
    const [first] = asked as readonly { readonly method?: unknown; readonly params?: { readonly message?: unknown } }[];
    return {
      kind: "asks",
      text: `asks: ${textOf(first?.params?.message) ?? String(first?.method)}${asked.length > 1 ? `, and ${asked.length - 1} more` : ""}`,
    };
  }
  return { kind: result?.isError === true ? "error" : "result", text: resultText(result ?? {}) };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);

function brief(value: unknown): string {
  return value === undefined ? "" : firstLine(JSON.stringify(value), 120);
}

/** Tells in a line what a result has. */
function resultText(result: { readonly [key: string]: unknown }): string {
  const { content, structuredContent } = result;
  const texts = Array.isArray(content)
    ? content.map((part: { readonly text?: unknown }) => textOf(part?.text)).filter((each) => each !== undefined)
    : [];
  const word = result.isError === true ? "failed" : "result";
  if (texts.length > 0) return `${word}: ${firstLine(texts.join(" "))}`;
  if (structuredContent !== undefined) return `${word}: ${brief(structuredContent)}`;
  for (const [name, value] of Object.entries(result))
    if (Array.isArray(value)) return `${word}: ${value.length} ${name}`;
  const names = Object.keys(result).filter((name) => !ENVELOPE.has(name));
  return names.length === 0 ? word : `${word}: ${names.join(", ")}`;
}

/** Members that say how a message travels, and not what it says. */
const ENVELOPE = new Set(["_meta", "requestState", "resultType", "ttlMs", "cacheScope"]);

/** Divides a message into what it says and its envelope. */
export function fold(message: AnyMessage): { readonly body: unknown; readonly envelope: unknown } {
  const content = message.params ?? message.result;
  if (!isObject(content)) {
    const { id, error, ...rest } = message as AnyMessage & { readonly jsonrpc?: string };
    return { body: error ?? {}, envelope: id === undefined ? rest : { ...rest, id } };
  }
  const entries = Object.entries(content);
  const { params: _p, result: _r, ...head } = message;
  return {
    body: Object.fromEntries(entries.filter(([name]) => !ENVELOPE.has(name))),
    envelope: { ...head, ...Object.fromEntries(entries.filter(([name]) => ENVELOPE.has(name))) },
  };
}
