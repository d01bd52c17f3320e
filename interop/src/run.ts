import { readFileSync } from "node:fs";
import { judge, type Known } from "./known.js";
import { nameOf, pairs } from "./matrix.js";
import { neighbours } from "./neighbours.js";
import { pythonNeighbours } from "./python.js";
import { type Outcome, runPair } from "./run-pair.js";
import { formatTable } from "./table.js";

/**
 * Bowline with the official SDKs, each as client and as server, and with servers that others made:
 * `node run.js [filter ...] [--json] [--python]`. A filter is a part of `client -> server mode era`; `--python` adds the
 * official Python SDK, fetched once into a cache. What fails by a fault of the other side is in known.json, with a reason.
 */
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = process.argv.includes("--json") || process.env.npm_config_json === "true";
const known = JSON.parse(readFileSync(new URL("../../known.json", import.meta.url), "utf8")) as readonly Known[];

/** What was asked for and cannot be had here. */
const missing: string[] = [];
const python = process.argv.includes("--python") ? await pythonNeighbours().catch(note) : [];
const lines = [...pairs.map((pair) => ({ pair: nameOf(pair), run: () => runPair(pair) })), ...neighbours, ...python];
const chosen = lines.filter(({ pair }) => filters.length === 0 || filters.some((filter) => pair.includes(filter)));
const begun = performance.now();
const outcomes = await runAll();
const verdict = judge(outcomes, known, filters.length === 0);
const seconds = Math.round((performance.now() - begun) / 100) / 10;
report();

function note(error: Error): [] {
  missing.push(`the Python SDK was not run: ${error.message}`);
  return [];
}

/** Two at a time: most of the time goes into starting processes. */
async function runAll(): Promise<Outcome[]> {
  const queue = chosen.map(({ run }, index) => ({ run, index }));
  const found: Outcome[][] = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      found[next.index] = await next.run();
    }
  };
  await Promise.all([work(), work()]);
  return found.flat();
}

function report(): void {
  const { totals, failures, stale, differences } = verdict;
  process.exitCode = failures.length + stale.length === 0 && outcomes.length > 0 ? 0 : 1;
  if (json) {
    const ok = process.exitCode === 0;
    console.log(JSON.stringify({ ok, seconds, totals, failures, stale, differences, missing, outcomes }, null, 2));
    return;
  }
  console.log(formatTable(outcomes, differences));
  const notes = differences.map(({ entry, check, reason }) => `known: ${entry}: ${check}: ${reason}`);
  for (const note of new Set(notes)) console.log(note);
  for (const { pair, check, problem } of failures) console.log(`FAIL ${pair}: ${check}: ${problem}`);
  for (const { pair, check } of stale) console.log(`FAIL known.json: ${pair}: ${check} does not fail any more`);
  for (const text of missing) console.log(text);
  const { passed, known: expected, failed } = totals;
  console.log(`\n${passed} passed, ${expected} known differences, ${failed} failed, in ${seconds} s`);
}
