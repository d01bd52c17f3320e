import { readFileSync, realpathSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lines } from "./lib/exec.mjs";
import { filesBelow, readJson } from "./lib/project.mjs";

/**
 * Compares the titles of two full runs: `node scripts/compare-titles.mjs <old> <new>`. Each argument is the
 * `build/test-titles.json` of a run or its folder `build/test-events`. A test that moved to another file is not a
 * difference. Fails if titles are lost.
 */
export function compareTitles(before, after) {
  const [old, now] = [countsOf(before), countsOf(after)];
  return { lost: more(old, now), added: more(now, old) };
}

/** Counts how often each title occurs. Several tests may have the same title. */
function countsOf(titlesByFile) {
  const counts = new Map();
  for (const title of Object.values(titlesByFile).flat()) counts.set(title, (counts.get(title) ?? 0) + 1);
  return counts;
}

function more(counts, others) {
  return [...counts].flatMap(([title, count]) => Array(Math.max(0, count - (others.get(title) ?? 0))).fill(title));
}

function titlesAt(path) {
  if (!statSync(path).isDirectory()) return readJson(path);
  const records = (file) => lines(readFileSync(file, "utf8")).map((line) => JSON.parse(line));
  const titles = (file) => records(file).flatMap(({ kind, name }) => (kind === "test" ? [name] : []));
  return Object.fromEntries(filesBelow(path, ".jsonl").map((file) => [file, titles(file)]));
}

function run([before, after]) {
  if (after === undefined) throw new Error("usage: node scripts/compare-titles.mjs <old> <new>");
  const { lost, added } = compareTitles(titlesAt(before), titlesAt(after));
  for (const title of lost) console.log(`- ${title}`);
  for (const title of added) console.log(`+ ${title}`);
  console.log(`${lost.length} lost, ${added.length} added`);
  process.exitCode = lost.length === 0 ? 0 : 1;
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) run(process.argv.slice(2));
