import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ProtocolError } from "#src/protocol/errors.js";
import { LineDecoder, toLine } from "#src/protocol/jsonrpc/lines.js";
import { cpuTime } from "../../../support/cpu-time.js";

interface Outcome {
  readonly lines: string[];
  readonly problems: string[];
}

function decode(chunks: Iterable<Uint8Array>, maxLineBytes = 1024): Outcome {
  const lines: string[] = [];
  const problems: string[] = [];
  const onProblem = (problem: Error) => {
    assert.ok(problem instanceof ProtocolError);
    problems.push(problem.message);
  };
  const onLine = (line: string) => void lines.push(line);
  const decoder = new LineDecoder({ onLine, onProblem, onOverflow: onProblem }, { maxLineBytes });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { lines, problems };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function* cutAt(whole: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, whole.length]) {
    yield whole.slice(from, to);
    from = to;
  }
}

describe("LineDecoder", () => {
  test("gives the same lines for every way to cut the bytes", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }).map(bytes),
      fc.constantFrom("\n", "\r\n", "\r", " \t\n", "\ufeff", "\u2028", "é", "猫", "🦊").map(bytes),
      fc.uint8Array({ maxLength: 4 }),
      fc.integer({ min: 6, max: 14 }).map((length) => bytes("x".repeat(length))),
      fc.integer({ min: 6, max: 18 }).map((length) => bytes(" ".repeat(length))),
    );
    const stream = fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.concat(pieces));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(500), { maxLength: 20 }), (whole, cuts) => {
        assert.deepEqual(decode(cutAt(whole, cuts), 10), decode([whole], 10));
      }),
      { numRuns: 500 },
    );
  });

  test("gives back the lines that were joined, at every offset of a cut", () => {
    const lines = ['{"a":"é猫🦊"}', '{"b":"\u2028\u2029\u0085\f"}', '{"c":1}', '{"d":"x\ry"}', ' {"e":2} '];
    const whole = bytes(lines.map((line) => `${line}\n`).join(""));
    for (let cut = 0; cut <= whole.length; cut++) {
      assert.deepEqual(decode([whole.slice(0, cut), whole.slice(cut)]), { lines, problems: [] });
    }
    const single = Array.from(whole, (byte) => Uint8Array.of(byte));
    assert.deepEqual(decode(single), { lines, problems: [] });
  });

  test("does not keep a chunk that its owner uses again", () => {
    const lines: string[] = [];
    const onLine = (line: string) => void lines.push(line);
    const decoder = new LineDecoder({ onLine, onProblem: assert.fail, onOverflow: assert.fail }, { maxLineBytes: 100 });
    const chunk = bytes("abc");
    decoder.push(chunk);
    chunk.fill(0x7a);
    decoder.push(bytes("d\n"));
    assert.deepEqual(lines, ["abcd"]);
  });

  test("drops a CR before the LF and keeps any other", () => {
    assert.deepEqual(decode([bytes("a\r\nb\rc\r\r\nd\r"), bytes("\n")]).lines, ["a", "b\rc\r", "d"]);
  });

  test("skips blank lines in silence", () => {
    assert.deepEqual(decode([bytes("\n \t\r\n\r\na\n\n  ")]), { lines: ["a"], problems: [] });
  });

  test("ignores a byte order mark at the start of the stream only", () => {
    assert.deepEqual(decode([bytes("\ufeffa\n\ufeffb\n")]).lines, ["a", "\ufeffb"]);
    assert.deepEqual(decode([Uint8Array.of(0xef), Uint8Array.of(0xbb), Uint8Array.of(0xbf, 0x61, 0x0a)]).lines, ["a"]);
  });

  test("reports a line that is not UTF-8 and delivers the lines around it", () => {
    const { lines, problems } = decode([bytes("a\n"), Uint8Array.of(0xff, 0xfe, 0x0a), bytes("b\n")]);
    assert.deepEqual(lines, ["a", "b"]);
    assert.deepEqual(problems, ["A line of 2 bytes is not valid UTF-8 and was skipped"]);
  });

  test("reports bytes without a terminator at the end, and does not repeat what they say", () => {
    const { lines, problems } = decode([bytes('a\n{"key":"secret"}')]);
    assert.deepEqual(lines, ["a"]);
    assert.deepEqual(problems, ["The input ended in the middle of a line; its 16 bytes were dropped"]);
  });

  test("accepts a line of exactly the limit, with a byte order mark and a CR around it", () => {
    for (const cuts of [[], [4], [8], [13], [14]]) {
      assert.deepEqual(decode(cutAt(bytes(`\ufeff${"x".repeat(10)}\r\n`), cuts), 10), {
        lines: ["x".repeat(10)],
        problems: [],
      });
    }
  });

  test("ends with an oversized line: reports it once, and delivers nothing after it", () => {
    for (const cuts of [[], [3], [5, 17, 19], [20, 21]]) {
      const { lines, problems } = decode(cutAt(bytes(`a\n${"x".repeat(30)}\nb\n`), cuts), 10);
      assert.deepEqual(lines, ["a"]);
      assert.deepEqual(problems, ["A line is longer than the limit of 10 bytes; raise maxLineBytes"]);
    }
  });

  test("reports an oversized line as soon as it is one", () => {
    const problems: Error[] = [];
    const onOverflow = (problem: Error) => void problems.push(problem);
    const decoder = new LineDecoder({ onLine: assert.fail, onProblem: assert.fail, onOverflow }, { maxLineBytes: 10 });
    decoder.push(bytes("x".repeat(20)));
    assert.equal(problems.length, 1);
    decoder.push(bytes("x".repeat(20)));
    decoder.end();
    assert.equal(problems.length, 1);
  });

  test("delivers nothing after the end", () => {
    const lines: string[] = [];
    const onLine = (line: string) => {
      lines.push(line);
      decoder.end();
    };
    const decoder = new LineDecoder({ onLine, onProblem: assert.fail, onOverflow: assert.fail }, { maxLineBytes: 10 });
    decoder.push(bytes("a\nb\nc"));
    decoder.push(bytes("d\n"));
    assert.deepEqual(lines, ["a"]);
  });

  test("takes time linear in the bytes: a line of 10 MB in chunks of 64 kB, and one of 1 MB in single bytes", () => {
    const large = bytes(`"${"é".repeat(5_000_000)}"\n`);
    const small = bytes(`${"x".repeat(1_000_000)}\n`);
    const chunks = Array.from({ length: Math.ceil(large.length / 65536) }, (_, index) =>
      large.subarray(index * 65536, (index + 1) * 65536),
    );
    const cpu = cpuTime();
    const many = decode(chunks, 1 << 24);
    const single = decode(
      Array.from(small, (_, index) => small.subarray(index, index + 1)),
      1 << 24,
    );
    const tookMs = cpu();
    assert.deepEqual([many.lines[0]?.length, many.problems], [5_000_002, []]);
    assert.deepEqual([single.lines[0]?.length, single.problems], [1_000_000, []]);
    assert.ok(tookMs < 10_000, `took ${tookMs} ms`);
  });
});

describe("toLine", () => {
  test("makes exactly one line that means the same", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, "\t"), (json, indent) => {
        const value: unknown = JSON.parse(json);
        const line = toLine(JSON.stringify(value, null, indent).replaceAll("\n", "\r\n"));
        assert.equal(line.indexOf("\n"), line.length - 1);
        assert.equal(line.includes("\r"), false);
        assert.deepEqual(JSON.parse(line), value);
      }),
    );
  });
});
