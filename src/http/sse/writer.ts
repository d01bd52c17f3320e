import type { HttpHeaders } from "../exchange.js";

/** Headers of an event stream: no cache, no compression and no proxy buffer between an event and its reader. */
export const SSE_HEADERS: HttpHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** What one block of an event stream may say. Without `data` a reader takes note of id and retry, and sees no event. */
export interface SseFields {
  readonly data?: string;
  /** Must hold no line break and no NUL: a reader could not give it back. */
  readonly id?: string;
  readonly event?: string;
  /** How long the reader waits before it connects again, in whole milliseconds. */
  readonly retry?: number;
}

const LINE_BREAK = /\r\n|\r|\n/;

/** One event as text, its closing blank line included. */
export function formatSseEvent(fields: SseFields): string {
  let text = "";
  if (fields.event !== undefined) text += `event: ${assertField("event", fields.event)}\n`;
  if (fields.id !== undefined) text += `id: ${assertField("id", fields.id)}\n`;
  if (fields.retry !== undefined) text += `retry: ${assertRetry(fields.retry)}\n`;
  if (fields.data !== undefined) text += formatLines("data: ", fields.data);
  return `${text}\n`;
}

/** A comment block: readers ignore it, and it keeps the connection alive. */
export function sseComment(text = ""): string {
  return text === "" ? ":\n\n" : `${formatLines(": ", text)}\n`;
}

function formatLines(prefix: string, text: string): string {
  // JSON text never holds a raw line break; two searches are cheaper than a split.
  if (!text.includes("\n") && !text.includes("\r")) return `${prefix}${text}\n`;
  let lines = "";
  for (const line of text.split(LINE_BREAK)) lines += `${prefix}${line}\n`;
  return lines;
}

function assertField(name: string, value: string): string {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code === 10 || code === 13 || code === 0) throw new TypeError(`SSE ${name} must not hold a line break or NUL`);
  }
  return value;
}

function assertRetry(retry: number): number {
  if (!Number.isSafeInteger(retry) || retry < 0)
    throw new TypeError("SSE retry must be a whole number of milliseconds");
  return retry;
}
