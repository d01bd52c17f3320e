import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, it } from "node:test";
import { layOut, moved, revealing, TIMELINE_LIMITS, ticksOf, wholeOf, zoomed } from "#src/page/model/timeline.js";
import type { Span, SpanLane } from "#src/recording/spans.js";

let line = 0;
function spanOf(from: number, to: number, own: Partial<Span> = {}): Span {
  line += 1;
  return {
    line,
    c: 1,
    lane: "calls",
    method: "tools/call",
    name: "moor",
    from,
    to,
    state: "ok",
    lines: [line],
    marks: [],
    rounds: [],
    size: 0,
    error: undefined,
    ...own,
  };
}

const rows = (spans: readonly Span[], width = 1000) =>
  layOut(spans, { from: 0, to: 1000 }, width)[0]?.bars.map(({ row }) => row);

describe("the timeline", () => {
  it("places bars by time, those at the same time in rows of their own", () => {
    const [lane] = layOut([spanOf(0, 500), spanOf(100, 400), spanOf(600, 1000)], { from: 0, to: 1000 }, 1000);
    deepEqual(
      lane?.bars.map(({ left, width, row }) => [left, width, row]),
      [
        [0, 500, 0],
        [100, 300, 1],
        [600, 400, 0],
      ],
    );
    deepEqual([lane?.rows, lane?.density], [2, undefined]);
  });

  it("keeps room for a label beside a short bar, on the left at the end of the run", () => {
    const short = [spanOf(100, 110), spanOf(120, 400), spanOf(990, 1000)];
    const [lane] = layOut(short, { from: 0, to: 1000 }, 1000);
    deepEqual(
      lane?.bars.map(({ side, row }) => [side, row]),
      [
        ["right", 0],
        ["in", 1],
        ["left", 0],
      ],
    );
  });

  it("keeps bars in their rows while it is moved", () => {
    const spans = [spanOf(0, 500), spanOf(100, 900), spanOf(450, 950), spanOf(600, 1000)];
    const rowOf = (from: number) =>
      new Map(layOut(spans, { from, to: from + 500 }, 500)[0]?.bars.map((bar) => [bar.span.line, bar.row]));
    const [before, after] = [rowOf(0), rowOf(450)];
    for (const [own, row] of after) if (before.has(own)) equal(row, before.get(own));
    ok(after.size > 1);
  });

  it("has lanes in a fixed order, divided by connection where there are few", () => {
    const lanes = (spans: readonly Span[]) => layOut(spans, { from: 0, to: 100 }, 100).map(({ lane, c }) => [c, lane]);
    const of = (lane: SpanLane, c: number) => spanOf(0, 10, { lane, c });
    deepEqual(lanes([of("stderr", 1), of("calls", 1), of("session", 1)]), [
      [undefined, "session"],
      [undefined, "calls"],
      [undefined, "stderr"],
    ]);
    deepEqual(lanes([of("calls", 2), of("calls", 1), of("auth", 1)]), [
      [undefined, "auth"],
      [1, "calls"],
      [2, "calls"],
    ]);
    const many = Array.from({ length: TIMELINE_LIMITS.maxConnections + 1 }, (_, c) => of("calls", c));
    deepEqual(lanes(many), [[undefined, "calls"]]);
  });

  it("draws few of many, and sums up the others, none lost", () => {
    const spans = Array.from({ length: 20_000 }, (_, index) =>
      spanOf(index * 10, index * 10 + (index % 100 === 0 ? 5000 : 5)),
    );
    const [lane] = layOut(spans, { from: 0, to: 200_000 }, 1000);
    ok(lane !== undefined && lane.density !== undefined);
    ok(lane.bars.length > 0 && lane.bars.length <= TIMELINE_LIMITS.maxBars, `${lane.bars.length} bars`);
    equal(lane.bars.length + lane.hidden, 20_000);
    ok(lane.rows <= TIMELINE_LIMITS.maxRows);
    ok(lane.density.all.every((count) => count > 0));
    ok(lane.bars.every(({ width }) => width >= TIMELINE_LIMITS.minWidth));
  });

  it("always draws the picked one", () => {
    const spans = Array.from({ length: 2000 }, (_, index) => spanOf(index, index + 1));
    const picked = spans[1234]?.line as number;
    const bars = layOut(spans, { from: 0, to: 100_000 }, 500, picked)[0]?.bars;
    deepEqual(
      bars?.map((bar) => bar.span.line),
      [picked],
    );
  });

  it("joins marks that would be in the same pixels", () => {
    const marks = Array.from({ length: 1000 }, (_, t) => ({ t, line: 1, kind: "progress" as const, text: "" }));
    const [lane] = layOut([spanOf(0, 1000, { marks })], { from: 0, to: 1000 }, 100);
    const drawn = lane?.bars[0]?.marks.length ?? 0;
    ok(drawn > 20 && drawn <= 34, `${drawn} marks`);
  });

  it("hatches the time in which the user is asked", () => {
    const marks = [{ t: 200, line: 1, kind: "question" as const, text: "Sure?" }];
    const rounds = [
      { from: 0, to: 200 },
      { from: 600, to: 1000 },
    ];
    const [lane] = layOut([spanOf(0, 1000, { marks, rounds })], { from: 0, to: 1000 }, 1000);
    deepEqual(lane?.bars[0]?.waits, [{ left: 200, width: 400 }]);
  });

  it("has nothing for a run without spans", () => {
    deepEqual(layOut([], wholeOf([], 0), 1000), []);
    ok(wholeOf([], 0).to > 0);
    equal(rows([]), undefined);
  });
});

describe("the view", () => {
  it("zooms around a moment, which stays in its place", () => {
    const view = zoomed({ from: 0, to: 1000 }, 250, 0.5, 1000);
    deepEqual(view, { from: 125, to: 625 });
    equal((250 - view.from) / (view.to - view.from), 0.25);
  });

  it("stays within the run", () => {
    deepEqual(zoomed({ from: 0, to: 500 }, 0, 100, 1000), { from: 0, to: 1000 });
    deepEqual(moved({ from: 0, to: 500 }, -1, 1000), { from: 0, to: 500 });
    deepEqual(moved({ from: 0, to: 500 }, 9, 1000), { from: 500, to: 1000 });
    ok(zoomed({ from: 0, to: 100 }, 50, 0.0001, 1000).to >= 50);
  });

  it("moves only as far as is necessary to reveal a span", () => {
    const view = { from: 0, to: 100 };
    equal(revealing(view, spanOf(50, 60), 1000), view);
    const next = revealing(view, spanOf(500, 510), 1000);
    ok(next.from < 500 && next.to > 510 && next.to - next.from === 100);
  });

  it("has a tick about every hundred pixels, at round numbers", () => {
    deepEqual(ticksOf({ from: 0, to: 1000 }, 550), [0, 200, 400, 600, 800, 1000]);
    for (const length of [77, 12_345, 9_999_999]) {
      const ticks = ticksOf({ from: 0, to: length }, 1000);
      ok(ticks.length >= 3 && ticks.length <= 12, `${ticks.length} ticks for ${length}`);
    }
  });
});
