import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonSchemaValidator } from "bowline/json-schema";
import { RECORDING_LIMITS } from "#src/recording/limits.js";
import { parseRecording, RecordingError, RecordingReader, readRecording } from "#src/recording/reader.js";
import { recordingSchema } from "#src/recording/shapes.js";
import { mutate, Seeded } from "../../support/seeded.js";
import { EVERY_KIND, HEADER, textOf } from "./sample.js";

const whole = textOf(EVERY_KIND);

describe("reader of recordings", () => {
  it("reads every kind of line, with its number", () => {
    const { header, events, complete } = parseRecording(whole);
    deepEqual([header, complete], [HEADER, true]);
    deepEqual(
      events,
      EVERY_KIND.map((event, index) => ({ ...event, line: index + 2 })),
    );
  });

  it("reads the same from pieces of any size, as text and as bytes", async () => {
    const bytes = new TextEncoder().encode(whole);
    const expected = parseRecording(whole);
    for (const size of [1, 7, 4096]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      deepEqual(await readRecording(pieces), expected);
    }
    deepEqual(await readRecording(whole), expected);
    deepEqual(await readRecording(new Blob([whole]).stream()), expected);
  });

  it("reads a recording whose writer was stopped, and says so", () => {
    const cut = whole.slice(0, whole.lastIndexOf('"k":"done"'));
    const { events, complete } = parseRecording(cut);
    deepEqual([events.length, complete], [EVERY_KIND.length - 1, false]);
  });

  it("leaves out kinds of later releases, and keeps members that it does not know", () => {
    const { events } = parseRecording(
      textOf([
        { t: 1, k: "hologram" },
        { t: 2, k: "note", text: "a", colour: "red" },
      ]),
    );
    deepEqual(events, [{ t: 2, k: "note", text: "a", colour: "red", line: 3 }]);
  });

  for (const [what, text, line, problem] of [
    ["nothing", "", 1, /is empty/],
    ["no header", '{"t":1,"k":"note","text":"a"}\n', 1, /is not the header of a recording/],
    ["a later version", textOf([], { ...HEADER, mcpRecording: 2 }), 1, /has version 2; .* update it/],
    ["another unit", textOf([], { ...HEADER, unit: "ms" }), 1, /unit must be us/],
    ["a damaged line", `${textOf([])}{"t":1,\n{"t":2,"k":"note","text":"a"}\n`, 2, /is not JSON/],
    ["an empty line", `${textOf([])}\n`, 2, /is not JSON/],
    ["a list", `${textOf([])}[]\n`, 2, /is not a JSON object/],
    ["no time", `${textOf([])}{"k":"note","text":"a"}\n`, 2, /t must be a number of microseconds/],
    ["a wrong member", textOf([{ t: 1, k: "frame", c: 1, d: "up", m: {} }]), 2, /d must be > or </],
    ["a missing member", textOf([{ t: 1, k: "end", c: 1, x: 1 }]), 2, /by is missing/],
    [
      "a wrong inner member",
      textOf([{ t: 1, k: "open", c: 1, wire: "http", role: "tap", server: { url: 1 } }]),
      2,
      /server\.url must be a string/,
    ],
    ["a frame without content", textOf([{ t: 1, k: "frame", c: 1, d: ">" }]), 2, /either m or raw/],
    [
      "lines after the last one",
      textOf([
        { t: 1, k: "done", lines: 1, bytes: 1 },
        { t: 2, k: "note", text: "a" },
      ]),
      3,
      /follows the last line/,
    ],
  ] as const)
    it(`refuses ${what} and names the line`, () => {
      throws(
        () => parseRecording(text),
        (error: RecordingError) => {
          ok(error instanceof RecordingError, String(error));
          deepEqual([error.code, error.line], ["invalid_recording", line]);
          ok(problem.test(error.message) && error.message.includes(`line ${line}:`), error.message);
          return true;
        },
      );
    });

  it("refuses bytes that are no UTF-8", () => {
    const bytes = Uint8Array.from([...new TextEncoder().encode(textOf([])), 0x22, 0xff, 0x22, 0x0a]);
    throws(() => parseRecording(bytes), { line: 2, message: /line 2: is not UTF-8/ });
  });

  it("keeps no more than a line, and refuses one that is too long before it has ended", () => {
    const reader = new RecordingReader(() => {});
    const piece = new Uint8Array(1024 ** 2).fill(32);
    throws(
      () => {
        for (let size = 0; size <= RECORDING_LIMITS.maxLineBytes; size += piece.length) reader.push(piece);
      },
      { line: 1, message: /is longer than 33554432 bytes/ },
    );
  });

  it("reads or refuses 10,000 damaged recordings, each refusal with its line", () => {
    const random = new Seeded(20_261_119);
    let [read, refused] = [0, 0];
    for (let run = 0; run < 10_000; run++) {
      const damaged = mutate(whole, random);
      try {
        const { events } = parseRecording(damaged);
        ok(events.every(({ line }) => line > 1));
        read++;
      } catch (error) {
        ok(error instanceof RecordingError, String(error));
        ok(error.line >= 1 && error.line <= damaged.split("\n").length, error.message);
        refused++;
      }
    }
    ok(read > 1000 && refused > 1000, `${read} read, ${refused} refused`);
  });
});

describe("JSON Schema of recordings", () => {
  const check = jsonSchemaValidator().compile(recordingSchema());
  const isValid = (value: unknown) => check(value).length === 0;

  it("accepts the header, every kind of line, and kinds of later releases", () => {
    for (const line of [HEADER, ...EVERY_KIND, { t: 1, k: "hologram" }]) ok(isValid(line), JSON.stringify(line));
  });

  it("agrees with the reader on damaged lines", () => {
    const random = new Seeded(4711);
    const texts = EVERY_KIND.map((event) => JSON.stringify(event));
    let invalid = 0;
    for (let run = 0; run < 2_000; run++) {
      const text = mutate(random.pick(texts), random);
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        continue;
      }
      let isRead = true;
      try {
        parseRecording(`${textOf([])}${text}\n`);
      } catch {
        isRead = false;
        invalid++;
      }
      equal(isValid(value), isRead, text);
    }
    ok(invalid > 20, String(invalid));
  });
});
