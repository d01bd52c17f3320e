import type { HttpHeaders } from "../exchange.js";

/** Headers of an event stream. They prevent caching, compression and buffering by proxies. */
export const SSE_HEADERS: HttpHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Fields of a block. A block without `data` sets the id and the reconnection time, but dispatches no event. */
export interface SseFields {
  readonly data?: string;
  /** Must not contain a line break or NUL, since clients could not send it back. */
  readonly id?: string;
  readonly event?: string;
  /** Reconnection time of the client in whole milliseconds. */
  readonly retry?: number;
}

const LINE_BREAK = /\r\n|\r|\n/;

/** Formats an event, including its final blank line. */
export function formatSseEvent(fields: SseFields): string {
  let text = "";
  if (fields.event !== undefined) text += `event: ${assertField("event", fields.event)}\n`;
  if (fields.id !== undefined) text += `id: ${assertField("id", fields.id)}\n`;
  if (fields.retry !== undefined) text += `retry: ${assertRetry(fields.retry)}\n`;
  if (fields.data !== undefined) text += formatLines("data: ", fields.data);
  return `${text}\n`;
}

/** Formats a comment, which clients ignore. It keeps the connection alive. */
export function sseComment(text = ""): string {
  return text === "" ? ":\n\n" : `${formatLines(": ", text)}\n`;
}

function formatLines(prefix: string, text: string): string {
  // JSON text never contains a raw line break. Two searches are cheaper than a split.
  if (!text.includes("\n") && !text.includes("\r")) return `${prefix}${text}\n`;
  let lines = "";
  for (const line of text.split(LINE_BREAK)) lines += `${prefix}${line}\n`;
  return lines;
}

function assertField(name: string, value: string): string {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code === 10 || code === 13 || code === 0)
      throw new TypeError(`SSE ${name} must not contain a line break or NUL`);
  }
  return value;
}

function assertRetry(retry: number): number {
  if (!Number.isSafeInteger(retry) || retry < 0)
    throw new TypeError(`SSE retry must be an integer of 0 or more, got ${retry}`);
  return retry;
}
