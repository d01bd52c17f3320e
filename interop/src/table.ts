import type { Difference } from "./known.js";
import type { Outcome } from "./run-pair.js";

/** Formats a line per pair and a column per check: `.` passed, `k` known difference, `F` failed, blank not run. */
export function formatTable(outcomes: readonly Outcome[], differences: readonly Difference[]): string {
  const pairs = [...new Set(outcomes.map(({ pair }) => pair))];
  const checks = [...new Set(outcomes.map(({ check }) => check))];
  const width = Math.max(...pairs.map((pair) => pair.length)) + 2;
  const lines = pairs.map((pair) => {
    const cells = checks.map((check) => mark(outcomes, differences, pair, check));
    return `${pair.padEnd(width)}${cells.join("  ")}`;
  });
  return [...heading(checks, width), ...lines, ""].join("\n");
}

/** Writes the names of the checks downwards over their columns. */
function heading(checks: readonly string[], width: number): string[] {
  const height = Math.max(...checks.map((check) => check.length));
  return Array.from({ length: height }, (_, row) => {
    const letters = checks.map((check) => check.padStart(height)[row]);
    return `${" ".repeat(width)}${letters.join("  ")}`.trimEnd();
  });
}

function mark(outcomes: readonly Outcome[], differences: readonly Difference[], pair: string, check: string): string {
  const outcome = outcomes.find((candidate) => candidate.pair === pair && candidate.check === check);
  if (outcome === undefined) return " ";
  if (outcome.problem === undefined) return ".";
  return differences.some((known) => known.pair === pair && known.check === check) ? "k" : "F";
}
