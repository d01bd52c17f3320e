import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { lines } from "./lib/exec.mjs";

/**
 * Prints the failures that the logs of commands contain: `node scripts/failures.mjs <log ...>`. All commands of the
 * project write a failure as `FAIL <place>: <what>`, with the message in the lines below. All failures together have
 * the lines of half a screen, so that they are at the end of what a machine shows of a run.
 */
const MAX_LINES = 50;
const MAX_LINES_OF_ONE = 24;
const MAX_WIDTH = 240;

const heading = /^FAIL [^:]+: ?/;
const totals = /^\d+ passed, \d+ failed$/;

/** Returns the failures in a log, each as its lines. A log without any is a failure that its last lines explain. */
export function failuresIn(name, text) {
  const found = [];
  for (const line of lines(text)) {
    if (heading.test(line)) found.push([line.replace("FAIL ", `${name}: `)]);
    else if (totals.test(line)) continue;
    else found.at(-1)?.push(line);
  }
  if (found.length === 0) return [[`${name}: the end of its output:`, ...lines(text).slice(-MAX_LINES_OF_ONE)]];
  // Commands that end without totals say so in the last line. What they wrote before explains it.
  const last = found.at(-1);
  if (found.length === 1 && last.length === 1 && / without totals$/.test(last[0]))
    last.push(...lines(text).slice(-MAX_LINES_OF_ONE, -1));
  return found;
}

/** Returns the report of all failures. Each gets the same share of the lines. */
export function reportOf(failures) {
  const shown = failures.slice(0, MAX_LINES);
  const share = Math.min(MAX_LINES_OF_ONE, Math.floor(MAX_LINES / Math.max(1, shown.length)));
  const told = shown.flatMap(([first, ...rest]) => [first, ...rest.slice(0, share - 1).map((line) => `  ${line}`)]);
  const more = failures.length - shown.length;
  const report = [`${failures.length} failures:`, ...told, ...(more > 0 ? [`and ${more} more`] : [])];
  return report.map((line) => line.slice(0, MAX_WIDTH)).join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const logs = process.argv.slice(2);
  const failures = logs.flatMap((log) => failuresIn(basename(log, ".log"), readFileSync(log, "utf8")));
  console.log(`\n${reportOf(failures)}\nThe logs are ${logs.join(", ")}.\n`);
}
