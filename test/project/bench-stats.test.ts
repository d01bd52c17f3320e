import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

interface Figures {
  readonly perSecond: Spread;
  readonly ofFloor?: Spread;
  readonly cpuOfFloor?: Spread;
  readonly over?: Readonly<Record<string, Spread>>;
  readonly cpuOf?: Readonly<Record<string, Spread>>;
  readonly overBest?: Spread & { readonly peer: string };
}

const { median, quantile, spread, ratio, round } = await loadScript<{
  median(values: readonly number[]): number;
  quantile(values: readonly number[], share: number): number;
  spread(values: readonly number[]): Spread | undefined;
  ratio(values: readonly number[], others: readonly number[]): Spread | undefined;
  round(value: number, digits?: number): number | undefined;
}>("bench/lib/stats.mjs");

const { summary } = await loadScript<{
  summary(latencies: readonly number[], ms: number): { calls: number; perSecond: number; p50: number; p99: number };
}>("bench/load/summary.mjs");

const { tabulate } = await loadScript<{
  tabulate(cells: object, floor: string | undefined): Readonly<Record<string, Readonly<Record<string, Figures>>>>;
}>("bench/measure/tabulate.mjs");

test("the median is the middle, or the mean of the two in the middle", () => {
  equal(median([3, 1, 2]), 2);
  equal(median([4, 1, 3, 2]), 2.5);
  ok(Number.isNaN(median([])));
});

test("a quantile is the value below which its share lies", () => {
  const values = Array.from({ length: 100 }, (_, index) => 99 - index);
  equal(quantile(values, 0.5), 50);
  equal(quantile(values, 0.99), 99);
  equal(quantile([7], 0.99), 7);
});

test("a spread leaves out what is no number and rounds to three digits", () => {
  deepEqual(spread([1.23456, Number.NaN, 3, 2]), { median: 2, min: 1.23, max: 3 });
  equal(spread([Number.NaN]), undefined);
  equal(round(123_456), 123_000);
});

test("a ratio is taken round by round, so that a slow round does not count against either", () => {
  deepEqual(ratio([10, 1, 100], [20, 2, 200]), { median: 0.5, min: 0.5, max: 0.5 });
});

test("a window is told by its calls, their rate and their latencies", () => {
  deepEqual(summary([2, 1, 4, 3], 2000), { calls: 4, ms: 2000, perSecond: 2, p50: 3, p99: 4 });
});

test("a table compares with the floor, and Bowline with each of the others", () => {
  const windows = (...perSecond: number[]) => perSecond.map((rate) => ({ perSecond: rate, cpuUs: 1e6 / rate }));
  const cells = {
    "echo@16": {
      bare: windows(100, 200),
      bowline: windows(80, 160),
      "mcp-lite": windows(10, 20),
      tmcp: windows(40, 80),
    },
  };
  const { bowline, "mcp-lite": other } = tabulate(cells, "bare");
  equal(bowline?.["echo@16"]?.ofFloor?.median, 0.8);
  equal(bowline?.["echo@16"]?.cpuOfFloor?.median, 1.25);
  deepEqual(Object.keys(bowline?.["echo@16"]?.over ?? {}).sort(), ["mcp-lite", "tmcp"]);
  equal(bowline?.["echo@16"]?.over?.["mcp-lite"]?.median, 8);
  equal(bowline?.["echo@16"]?.overBest?.peer, "tmcp");
  equal(bowline?.["echo@16"]?.overBest?.median, 2);
  equal(other?.["echo@16"]?.over, undefined);
});

test("the best peer is one in JavaScript with sessions; those of other languages are compared by name", () => {
  const windows = (perSecond: number) => [{ perSecond, cpuUs: 1e6 / perSecond }];
  const series = {
    bowline: windows(80),
    "bowline without sessions": windows(120),
    tmcp: windows(40),
    rmcp: windows(100),
    "rmcp without sessions": windows(160),
    "go-sdk": windows(50),
  };
  const { bowline, "bowline without sessions": sessionless } = tabulate({ "echo@16": series }, undefined);
  equal(bowline?.["echo@16"]?.overBest?.peer, "tmcp");
  deepEqual(Object.keys(bowline?.["echo@16"]?.over ?? {}), ["tmcp", "rmcp", "rmcp without sessions", "go-sdk"]);
  equal(bowline?.["echo@16"]?.cpuOf?.["rmcp without sessions"]?.median, 2);
  equal(sessionless?.["echo@16"]?.cpuOf?.["rmcp without sessions"]?.median, 1.33);
});
