import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { LineRing } from "#src/inspect/ring.js";

const limits = { maxKeptLines: 3, maxKeptBytes: 1_000 };

function filled(count: number, more: Partial<typeof limits> = {}): LineRing {
  const ring = new LineRing("header", { ...limits, ...more });
  for (let line = 2; line < count + 2; line++) ring.add(line * 10, `line ${line}`);
  return ring;
}

test("the header is line 1, and lines follow in order", () => {
  const ring = filled(2);
  equal(ring.last, 3);
  deepEqual(
    [0, 1, 2, 3, 4].map((number) => ring.at(number)?.text),
    ["header", "header", "line 2", "line 3", undefined],
  );
});

test("lines that were dropped are a gap, with the number of the last of them", () => {
  const ring = filled(10);
  equal(ring.last, 11);
  const gap = ring.at(4);
  equal(gap?.number, 8);
  deepEqual(JSON.parse(gap?.text ?? ""), {
    t: 90,
    k: "gap",
    lines: 5,
    reason: "older lines are not kept in memory; --record keeps all in a file",
  });
  equal(ring.at(8)?.number, 8);
  deepEqual(ring.at(9), { number: 9, text: "line 9" });
});

test("the text has header, gap and what is kept", () => {
  const lines = filled(10).text().trimEnd().split("\n");
  deepEqual(
    [lines[0], JSON.parse(lines[1] ?? "").lines, ...lines.slice(2)],
    ["header", 7, "line 9", "line 10", "line 11"],
  );
  equal(filled(1).text(), "header\nline 2\n");
});

test("characters are bounded too, but the last line is always kept", () => {
  const ring = filled(3, { maxKeptBytes: 13 });
  deepEqual([ring.at(3)?.text, ring.at(4)?.text], ["line 3", "line 4"]);
  ring.add(99, "x".repeat(500));
  equal(ring.at(5)?.text.length, 500);
  equal(ring.at(4)?.text.includes('"lines":1'), true);
});
