import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { type ProgressReport, ProgressReporter, toReport } from "#src/call/progress-reporter.js";

function reporting(limited: boolean) {
  const clock = new FakeClock();
  const sent: unknown[] = [];
  const misuse: string[] = [];
  const reporter = new ProgressReporter(
    (report) => void sent.push(report._meta === undefined ? report.progress : [report.progress, report._meta]),
    (error) => misuse.push(error.message),
    limited ? { clock, intervalMs: 100 } : undefined,
  );
  const report = (progress: number, more: Partial<ProgressReport> = {}) => reporter.report({ progress, ...more });
  return { clock, sent, misuse, reporter, report };
}

test("progress grows, and is finite; anything else is the author's mistake and is not sent", () => {
  const { sent, misuse, report, reporter } = reporting(false);
  equal(reporter.next, 1);
  report(-1);
  equal(reporter.next, 1);
  report(2);
  equal(reporter.next, 3);
  report(2);
  report(1);
  report(Number.NaN);
  report(3, { total: Number.POSITIVE_INFINITY });
  report(3, { total: 4 });
  deepEqual(sent, [-1, 2, 3]);
  deepEqual(
    misuse.map((message) => message.replace("Invalid progress: ", "")),
    [
      "progress must increase, but 2 follows 2",
      "progress must increase, but 1 follows 2",
      "progress and total must be finite, got NaN and undefined",
      "progress and total must be finite, got 3 and Infinity",
    ],
  );
});

test("within an interval only the latest value is sent, at its end", () => {
  const { clock, sent, report, reporter } = reporting(true);
  report(1);
  report(2);
  report(3);
  equal(clock.pending, 1);
  clock.advance(99);
  deepEqual(sent, [1]);
  clock.advance(1);
  deepEqual(sent, [1, 3]);
  report(4);
  deepEqual(sent, [1, 3], "the next interval begins with what was sent at the end of the last");
  void reporter.flush();
  deepEqual(sent, [1, 3, 4]);
  equal(clock.pending, 0);
  void reporter.flush();
  deepEqual(sent, [1, 3, 4], "nothing is sent twice");
  clock.advance(100);
  report(5);
  deepEqual(sent, [1, 3, 4, 5]);
});

test("a report that carries more than a number goes at once, behind what was held back", () => {
  const { clock, sent, report } = reporting(true);
  report(1);
  report(2);
  report(3, { _meta: { step: "a" } });
  deepEqual(sent, [1, 2, [3, { step: "a" }]]);
  clock.advance(1000);
  equal(sent.length, 3);
});

test("a reporter without a limit holds nothing back", () => {
  const { sent, report, reporter } = reporting(false);
  for (const value of [1, 2, 3]) report(value);
  deepEqual(sent, [1, 2, 3]);
  equal(reporter.flush(), undefined);
});

test("a report has only the members that were given", () => {
  deepEqual(toReport(1, undefined, undefined), { progress: 1 });
  deepEqual(toReport(1, 2, "half"), { progress: 1, total: 2, message: "half" });
  match(JSON.stringify(toReport(1, undefined, "")), /message/);
});
