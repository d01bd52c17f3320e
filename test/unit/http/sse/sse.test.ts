import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { readSse, type SseEvent, SseEventTooLarge, SseReader } from "#src/http/sse/reader.js";
import { formatSseEvent, SSE_HEADERS, type SseFields, sseComment } from "#src/http/sse/writer.js";

const utf8 = new TextEncoder();
const BOUND = { maxEventSize: 1 << 20 };

function read(chunks: ReadonlyArray<Uint8Array | string>): {
  events: SseEvent[];
  lastEventId: string;
  retryMs: unknown;
} {
  const events: SseEvent[] = [];
  const reader = new SseReader((event) => events.push(event), BOUND);
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return { events, lastEventId: reader.lastEventId, retryMs: reader.retryMs };
}

function pushAll(reader: SseReader, chunks: readonly string[]): void {
  for (const chunk of chunks) reader.push(chunk);
}

const bytewise = (text: string) => Array.from(utf8.encode(text), (byte) => Uint8Array.of(byte));
const message = (data: string, id?: string): SseEvent => ({ event: "message", data, id });

/** Cuts bytes at the given places, each taken modulo what is left. */
function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size));
    at = Math.min(at + size, bytes.length);
  }
  chunks.push(bytes.subarray(at));
  return chunks;
}

const streams: ReadonlyArray<{
  name: string;
  text: string;
  events: SseEvent[];
  lastEventId?: string;
  retryMs?: number;
}> = [
  { name: "LF", text: "data: a\n\ndata: b\n\n", events: [message("a"), message("b")] },
  { name: "CR", text: "data: a\r\rdata: b\r\r", events: [message("a"), message("b")] },
  { name: "CRLF", text: "data: a\r\n\r\ndata: b\r\n\r\n", events: [message("a"), message("b")] },
  {
    name: "mixed ends",
    text: "data: a\r\n\ndata: b\r\r\ndata: c\n\rdata: d\n\n",
    events: ["a", "b", "c", "d"].map((d) => message(d)),
  },
  { name: "several data lines", text: "data: a\ndata:\ndata: b\n\n", events: [message("a\n\nb")] },
  { name: "one space is taken away", text: "data:a\ndata:  b\n\n", events: [message("a\n b")] },
  { name: "data without a colon", text: "data\n\ndata\ndata\n\n", events: [message(""), message("\n")] },
  { name: "byte order mark", text: "\uFEFFdata: a\n\n", events: [message("a")] },
  { name: "only one byte order mark", text: "\uFEFF\uFEFFdata: a\n\ndata: b\n\n", events: [message("b")] },
  { name: "comments", text: ":\n\n: keepalive\r\n\r\n:x\ndata: a\n: data: no\n\n", events: [message("a")] },
  {
    name: "unknown fields",
    text: "dat: a\ndatax: b\nids: 3\nfoo\n Data: x\nDATA: y\ndata: c\n\n",
    events: [message("c")],
  },
  {
    name: "type",
    text: "event: ping\ndata: a\n\nevent\ndata: b\n\n",
    events: [{ event: "ping", data: "a", id: undefined }, message("b")],
  },
  { name: "type does not leak", text: "event: ping\n\ndata: a\n\n", events: [message("a")] },
  { name: "id", text: "id: 1\ndata: a\n\ndata: b\n\n", events: [message("a", "1"), message("b")], lastEventId: "1" },
  {
    name: "id with NUL",
    text: "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
    events: [message("a", "1"), message("b")],
    lastEventId: "1",
  },
  { name: "id without data", text: "id: 7\n\n", events: [], lastEventId: "7" },
  { name: "id with empty data", text: "id: 7\ndata:\n\n", events: [message("", "7")], lastEventId: "7" },
  { name: "empty id resets", text: "id: 7\n\nid\ndata: a\n\n", events: [message("a", "")], lastEventId: "" },
  { name: "retry", text: "retry: 0250\n\n", events: [], retryMs: 250 },
  { name: "bad retry", text: "retry: 250\nretry: 1s\nretry: -1\nretry:\nretry: 1.5\n\n", events: [], retryMs: 250 },
  { name: "retry no timer can wait", text: "retry: 99999999999999999999\n", events: [], retryMs: 2_147_483_647 },
  { name: "unfinished event", text: "data: a\n\nid: 9\ndata: b\n", events: [message("a")], lastEventId: "" },
  { name: "unfinished line", text: "data: a\n\ndata: b", events: [message("a")] },
  { name: "non-ASCII", text: "data: \u00e9\u4e2d\u{1F600}\n\n", events: [message("\u00e9\u4e2d\u{1F600}")] },
];

describe("SseReader", () => {
  for (const { name, text, events, lastEventId = "", retryMs } of streams) {
    it(`reads: ${name}`, () => {
      const expected = { events, lastEventId, retryMs };
      deepEqual(read([text]), expected, "as text");
      deepEqual(read([utf8.encode(text)]), expected, "as bytes");
      deepEqual(read(bytewise(text)), expected, "byte by byte");
      deepEqual(read(Array.from(text)), expected, "character by character");
    });
  }

  it("acts on a line end at the end of a chunk at once, CR included", () => {
    const seen: string[] = [];
    const reader = new SseReader((event) => seen.push(event.data), BOUND);
    reader.push("data: a\r\r");
    deepEqual(seen, ["a"]);
    reader.push("\ndata: b\n\n");
    deepEqual(seen, ["a", "b"]);
  });

  it("replaces bytes that are not UTF-8", () => {
    deepEqual(read([utf8.encode("data: "), Uint8Array.of(0xff), utf8.encode("\n\n")]).events, [message("\uFFFD")]);
  });

  it("gives back any events, however the stream is cut", () => {
    const field = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n\0]/g, "x"));
    const event = fc.record(
      { data: fc.string({ unit: "binary" }), event: field, id: field, retry: fc.nat() },
      { requiredKeys: [] },
    );
    const sizes = fc.array(fc.nat({ max: 9 }), { maxLength: 200 });
    fc.assert(
      fc.property(fc.array(event), sizes, fc.boolean(), (events, sizes, keepalive) => {
        const text = events.map((fields) => (keepalive ? sseComment("hi\nho") : "") + formatSseEvent(fields)).join("");
        const expected = events.filter((fields) => fields.data !== undefined).map(toEvent);
        const { events: seen, lastEventId } = read(cut(utf8.encode(text), sizes));
        deepEqual(seen, expected);
        equal(lastEventId, events.findLast((fields) => fields.id !== undefined)?.id ?? "");
      }),
    );
  });

  it("reads any bytes alike whole and in pieces", () => {
    const piece = fc.constantFrom(
      "data",
      "data:",
      ":",
      " ",
      "id",
      "event",
      "retry:",
      "1",
      "\n",
      "\r",
      "\r\n",
      "\0",
      "\uFEFF",
      "\u4e2d",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.array(fc.nat({ max: 5 })), (pieces, sizes) => {
        const bytes = utf8.encode(pieces.join(""));
        deepEqual(read(cut(bytes, sizes)), read([bytes]));
      }),
    );
  });

  it("breaks on an event beyond the limit, at the same size however it comes", () => {
    const fits = `data: ${"x".repeat(44)}\ndata: ${"y".repeat(44)}\n\n`;
    const tooLarge = `data: ${"x".repeat(44)}\ndata: ${"y".repeat(45)}\n\n`;
    for (const toChunks of [(text: string) => [text], (text: string) => Array.from(text)]) {
      const seen: string[] = [];
      const reader = new SseReader((event) => seen.push(event.data), { maxEventSize: 100 });
      for (const chunk of toChunks(fits + fits)) reader.push(chunk);
      equal(seen.length, 2);
      throws(() => pushAll(reader, toChunks(tooLarge)), SseEventTooLarge);
      equal(reader.ended, true);
      reader.push("\n\ndata: late\n\n");
      equal(seen.length, 2);
    }
  });

  it("does not count comments against an event", () => {
    const reader = new SseReader(() => {}, { maxEventSize: 20 });
    for (let count = 0; count < 100; count++) reader.push(": keepalive\n");
    equal(reader.ended, false);
  });

  it("delivers nothing after its listener has ended it", () => {
    const seen: string[] = [];
    const reader: SseReader = new SseReader((event) => {
      seen.push(event.data);
      reader.end();
    }, BOUND);
    reader.push("data: a\n\ndata: b\n\n");
    deepEqual(seen, ["a"]);
  });
});

function toEvent(fields: SseFields): SseEvent {
  const data = (fields.data ?? "").replace(/\r\n|\r/g, "\n");
  return { event: fields.event || "message", data, id: fields.id };
}

describe("formatSseEvent", () => {
  it("writes the fields and a blank line", () => {
    equal(formatSseEvent({ data: '{"a":1}' }), 'data: {"a":1}\n\n');
    equal(formatSseEvent({ data: "", id: "4", event: "x", retry: 10 }), "event: x\nid: 4\nretry: 10\ndata: \n\n");
    equal(formatSseEvent({ data: "a\r\nb\rc\n" }), "data: a\ndata: b\ndata: c\ndata: \n\n");
    equal(formatSseEvent({ retry: 0 }), "retry: 0\n\n");
  });

  it("refuses fields that no reader could give back", () => {
    throws(() => formatSseEvent({ id: "a\nb" }), /SSE id/);
    throws(() => formatSseEvent({ event: "a\rb" }), /SSE event/);
    throws(() => formatSseEvent({ id: "a\0" }), /SSE id/);
    throws(() => formatSseEvent({ retry: 1.5 }), /SSE retry/);
    throws(() => formatSseEvent({ retry: Number.POSITIVE_INFINITY }), /SSE retry/);
  });

  it("writes comments", () => {
    equal(sseComment(), ":\n\n");
    equal(sseComment("a\ndata: b"), ": a\n: data: b\n\n");
    equal(SSE_HEADERS["cache-control"], "no-cache, no-transform");
  });
});

describe("readSse", () => {
  /** A body that tells how it was cancelled. */
  function createBody(...chunks: string[]) {
    let cancelled: (reason: unknown) => void = () => {};
    const cancel = new Promise<unknown>((resolve) => {
      cancelled = resolve;
    });
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(given) {
        controller = given;
        for (const chunk of chunks) controller.enqueue(utf8.encode(chunk));
      },
      cancel: (reason) => cancelled(reason),
    });
    return { body, cancel, controller };
  }

  it("reads to the end", async () => {
    const { body, controller } = createBody("data: a\n", "\ndata: b\n\n");
    controller.close();
    const seen: string[] = [];
    await readSse(body, new SseReader((event) => seen.push(event.data), BOUND));
    deepEqual(seen, ["a", "b"]);
  });

  it("cancels the body when the listener has seen enough", async () => {
    const { body, cancel } = createBody("data: a\n\ndata: b\n\n");
    const reader: SseReader = new SseReader(() => reader.end(), BOUND);
    await readSse(body, reader);
    equal(await cancel, undefined);
  });

  it("cancels the body and rejects with the reason when the signal fires", async () => {
    const { body, cancel } = createBody("data: a\n\n");
    const abort = new AbortController();
    const reason = new Error("enough");
    const reading = readSse(body, new SseReader(() => abort.abort(reason), BOUND), abort);
    await rejects(reading, (error) => error === reason);
    equal(await cancel, reason);
  });

  it("does not read when the signal has fired before", async () => {
    const { body, cancel } = createBody("data: a\n\n");
    const seen: SseEvent[] = [];
    await rejects(
      readSse(body, new SseReader((event) => seen.push(event), BOUND), { signal: AbortSignal.abort("no") }),
      (error) => error === "no",
    );
    equal(await cancel, "no");
    deepEqual(seen, []);
  });

  it("passes on the body's error and the reader's", async () => {
    const broken = createBody();
    const failure = new Error("reset");
    broken.controller.error(failure);
    await rejects(readSse(broken.body, new SseReader(() => {}, BOUND)), (error) => error === failure);
    const long = createBody("data: long\n\n");
    await rejects(readSse(long.body, new SseReader(() => {}, { maxEventSize: 5 })), SseEventTooLarge);
    equal((await long.cancel) instanceof SseEventTooLarge, true);
  });
});
