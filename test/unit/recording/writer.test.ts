import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { describe, it } from "node:test";
import { RECORDING_LIMITS } from "#src/recording/limits.js";
import { parseRecording } from "#src/recording/reader.js";
import { type RecordingSink, RecordingWriter } from "#src/recording/writer.js";
import { EVERY_KIND, HEADER } from "./sample.js";

const { by, at, redaction } = HEADER;
const header = { by, at, redaction };

class SlowSink implements RecordingSink {
  readonly texts: string[] = [];
  readonly #releases: (() => void)[] = [];
  closed = 0;

  write(lines: string): Promise<void> {
    this.texts.push(lines);
    return new Promise((resolve) => this.#releases.push(resolve));
  }

  close(): void {
    this.closed++;
  }

  async release(): Promise<void> {
    this.#releases.shift()?.();
    await new Promise(setImmediate);
  }
}

describe("writer of recordings", () => {
  it("writes what the reader reads, and counts lines and bytes", async () => {
    const texts: string[] = [];
    const writer = new RecordingWriter(header, { write: (lines) => void texts.push(lines) });
    for (const event of EVERY_KIND.slice(0, -1)) writer.write(event);
    await writer.close(61, { bearer: 1 });
    const text = texts.join("");
    const { events, complete } = parseRecording(text);
    equal(complete, true);
    deepEqual(
      events.slice(0, -1),
      EVERY_KIND.slice(0, -1).map((event, index) => ({ ...event, line: index + 2 })),
    );
    const before = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);
    const { lines, bytes, redacted } = events.at(-1) as { lines?: number; bytes?: number; redacted?: object };
    deepEqual([lines, bytes, redacted], [EVERY_KIND.length, Buffer.byteLength(before), { bearer: 1 }]);
  });

  it("puts the lines of a turn into one write, and waits for the one before", async () => {
    const sink = new SlowSink();
    const writer = new RecordingWriter(header, sink);
    const note = (text: string) => writer.write({ t: 1, k: "note", text });
    note("a");
    await new Promise(setImmediate);
    equal(sink.texts.length, 1);
    note("b");
    note("c");
    await new Promise(setImmediate);
    equal(sink.texts.length, 1);
    await sink.release();
    deepEqual(
      sink.texts[1]
        ?.trim()
        .split("\n")
        .map((line) => JSON.parse(line).text),
      ["b", "c"],
    );
    const closed = writer.close(2);
    await sink.release();
    equal(sink.closed, 0);
    await sink.release();
    await closed;
    equal(sink.closed, 1);
  });

  it("drops lines while the destination is too slow, and notes the gap", async () => {
    const sink = new SlowSink();
    const writer = new RecordingWriter(header, sink, { ...RECORDING_LIMITS, maxUnwrittenBytes: 100 });
    await new Promise(setImmediate);
    for (let n = 0; n < 50; n++) writer.write({ t: n, k: "note", text: `number ${n}` });
    await sink.release();
    writer.write({ t: 60, k: "note", text: "after" });
    const closed = writer.close(61);
    for (let n = 0; n < 4; n++) await sink.release();
    await closed;
    const { events } = parseRecording(sink.texts.join(""));
    const notes = events.filter(({ k }) => k === "note").length;
    const gap = events.find((event) => event.k === "gap");
    ok(gap?.k === "gap" && gap.lines === 51 - notes && notes < 10, JSON.stringify([notes, gap]));
    equal(events.at(-2)?.k, "note");
  });

  it("replaces a line that is too long by a gap", async () => {
    const texts: string[] = [];
    const limits = { ...RECORDING_LIMITS, maxLineBytes: 1000 };
    const writer = new RecordingWriter(header, { write: (lines) => void texts.push(lines) }, limits);
    writer.write({ t: 1, k: "note", text: "\u{1f98a}".repeat(300) });
    writer.write({ t: 2, k: "note", text: "a".repeat(900) });
    await writer.close(3);
    const [gap, kept] = parseRecording(texts.join("")).events;
    deepEqual([gap?.k, kept?.k], ["gap", "note"]);
  });

  it("ends with the first error of the destination, and reports it at the end", async () => {
    const full = new Error("no space left");
    let writes = 0;
    const sink = {
      write: async () => {
        writes++;
        throw full;
      },
    };
    const writer = new RecordingWriter(header, sink);
    await new Promise(setImmediate);
    writer.write({ t: 1, k: "note", text: "a" });
    await rejects(writer.close(2), full);
    equal(writes, 1);
  });
});
