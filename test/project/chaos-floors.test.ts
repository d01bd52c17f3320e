import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Machine {
  readonly share: number;
  readonly awake: number;
  readonly given: number;
}
type Counts = Readonly<Record<string, number>>;
type Finding = Readonly<{ doubt?: string; problem?: string }>;
interface Span {
  readonly at: number;
  readonly until?: number;
}

const floors = await loadScript<{
  machineOf(run: object): Machine;
  coveredBy(spans: readonly Span[], from: number, to: number): number;
  shortfalls(run: { counts: Counts; floors: Counts; per?: object; machine: Machine }): Iterable<Finding>;
  outcomeOf(findings: { problems: readonly string[]; doubts: readonly string[] }): string;
  exitCodeOf(outcomes: readonly string[]): number;
  conclusion(findings: { problems: readonly string[]; doubts: readonly string[] }): Iterable<string>;
}>("chaos/floors.mjs");
const { Stalls } = await loadScript<{
  Stalls: new () => { look(reading: { at: number; ranMs: number; waitedMs?: number }): number | undefined };
}>("chaos/stalls.mjs");

const IDLE = { share: 1, awake: 1, given: 1 };
const HALF = { share: 0.5, awake: 0.9, given: 0.5 };
const found = (counts: Counts, minimum: Counts, machine: Machine, per = {}) =>
  [...floors.shortfalls({ counts, floors: minimum, per, machine })].map((finding) => Object.keys(finding)[0]);

describe("the minimum numbers of chaos", () => {
  test("are a problem on a machine that gave enough time", () => {
    deepEqual(found({ calls: 19_999 }, { calls: 20_000 }, IDLE), ["problem"]);
    deepEqual(found({ calls: 20_000 }, { calls: 20_000 }, IDLE), []);
  });

  test("are a doubt on a busy machine, unless it gave time for more, and never pass", () => {
    deepEqual(found({ calls: 10_000 }, { calls: 20_000 }, HALF), ["doubt"]);
    deepEqual(found({ calls: 9_999 }, { calls: 20_000 }, HALF), ["problem"]);
    deepEqual(found({ calls: 19_999 }, { calls: 20_000 }, { share: 0.99, awake: 1, given: 0.99 }), ["doubt"]);
  });

  test("name the reason of a doubt", () => {
    const reason = (machine: Machine) =>
      String([...floors.shortfalls({ counts: { calls: 15 }, floors: { calls: 20 }, machine })][0]?.doubt);
    match(reason(HALF), /calls 15 of 20; the machine let its processes run for 50 % of the time/);
    match(reason({ share: 0.9, awake: 0.6, given: 0.6 }), /not stalled for 60 % of the time/);
  });

  test("of what comes of other work are in proportion to it", () => {
    const per = { results: "calls" };
    const minimum = { calls: 20_000, results: 15_000 };
    deepEqual(found({ calls: 10_000, results: 7_500 }, minimum, HALF, per), ["doubt"]);
    deepEqual(found({ calls: 10_000, results: 7_499 }, minimum, HALF, per), ["doubt", "doubt"]);
    deepEqual(found({ calls: 10_000, results: 3_749 }, minimum, HALF, per), ["doubt", "problem"]);
    deepEqual(found({ calls: 20_000, results: 14_999 }, minimum, IDLE, per), ["problem"]);
    deepEqual(found({ calls: 40_000, results: 15_000 }, minimum, HALF, per), []);
  });
});

describe("the time that the machine gave", () => {
  const ran = (node: string, ranMs: number, waitedMs: number) => ({
    kind: "ran",
    node,
    subject: `${ranMs}`,
    principal: `${waitedMs}`,
  });
  const stall = (node: string, ms: number, at: number) => ({ kind: "stall", node, subject: `${ms}`, at });
  const given = (truth: readonly object[], stops: readonly object[] = []) =>
    floors.machineOf({ truth, stops, begunAt: 0, endedAt: 10_000 });

  test("is all of it without a record", () => {
    deepEqual(given([]), IDLE);
  });

  test("is the part in which the processes ran, of the time in which they could", () => {
    const truth = [ran("n0", 100, 0), ran("n0", 300, 50), ran("clients", 300, 350)];
    equal(given(truth).share, 0.6);
  });

  test("is without the stalls, and not without the stops of nodes", () => {
    equal(given([stall("n0", 2_000, 5_000), stall("n1", 2_000, 6_000)]).awake, 0.7);
    const stop = { nodes: ["n0"], at: 2_900, until: 5_000 };
    equal(given([stall("n0", 2_000, 5_000)], [stop]).awake, 1);
    equal(given([stall("n1", 2_000, 5_000)], [stop]).awake, 0.8);
  });

  test("counts a time once that several spans cover", () => {
    const spans = [{ at: 5, until: 8 }, { at: 0, until: 6 }, { at: 7, until: 20 }, { at: 1 }];
    equal(floors.coveredBy(spans, 2, 10), 8);
    equal(floors.coveredBy(spans, 20, 30), 0);
  });
});

describe("a stall", () => {
  /** Returns the stalls that a process finds in its looks: each has the time since the last one, and the CPU time in it. */
  const stallsIn = (...looks: readonly (readonly [number, number])[]) => {
    const stalls = new Stalls();
    let [at, ranMs] = [0, 0];
    stalls.look({ at, ranMs });
    return looks.flatMap(([ms, ran]) => {
      at += ms;
      ranMs += ran;
      return stalls.look({ at, ranMs }) ?? [];
    });
  };

  test("is a second of late looks", () => {
    deepEqual(stallsIn([200, 0], [1_200, 10], [200, 0]), [1_200]);
    deepEqual(stallsIn([500, 10], [500, 10]), [1_000]);
    deepEqual(stallsIn([500, 10], [210, 10], [500, 10], [210, 0]), []);
  });

  test("is a second in which the main thread got next to nothing, although it looked in time", () => {
    const starved = (part: number) => {
      const stalls = new Stalls();
      const looks = Array.from({ length: 6 }, (_, look) => look * 210);
      return looks.flatMap((at) => stalls.look({ at, ranMs: 0, waitedMs: at * part }) ?? []);
    };
    deepEqual(starved(0.85), [1_050]);
    deepEqual(starved(0.75), []);
  });

  test("is no time in which the process itself was busy", () => {
    deepEqual(stallsIn([3_000, 2_900]), []);
    deepEqual(stallsIn([3_000, 1_500]), [3_000]);
  });
});

test("a run that proves too little has neither passed nor failed", () => {
  const outcomes = [
    { problems: [], doubts: [] },
    { problems: [], doubts: ["why"] },
    { problems: ["what"], doubts: ["why"] },
  ].map((findings) => [floors.outcomeOf(findings), ...floors.conclusion(findings)]);
  deepEqual(outcomes, [
    ["passed", "PASSED"],
    ["inconclusive", "INCONCLUSIVE: no rule is broken, but the run proves too little", "  why"],
    ["failed", "FAILED: 1 problems", "  what", "  why"],
  ]);
  equal(floors.exitCodeOf(["passed", "passed"]), 0);
  equal(floors.exitCodeOf(["passed", "inconclusive"]), 3);
  equal(floors.exitCodeOf(["inconclusive", "failed", "passed"]), 1);
});
