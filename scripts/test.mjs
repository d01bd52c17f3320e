import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { at, filesBelow, shown, wantsJson } from "./lib/project.mjs";
import { runTestFile } from "./lib/test-file.mjs";

/**
 * Runs the built tests, two files at a time: `node scripts/test.mjs [filter ...] [--json]`. A filter is a part of a
 * file's path, or, when no file has it, a part of tests' titles. A run without filters is a full run: it replaces the
 * proofs in build/proofs, which the requirements gate reads, and build/test-titles.json, which scripts/compare-titles.mjs
 * reads; a filtered run leaves them alone.
 */
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = wantsJson();
const isFull = filters.length === 0;

const all = [at("build/test"), at("interop/dist")].flatMap((folder) => filesBelow(folder, ".test.js"));
const byPath = all.filter((file) => filters.some((filter) => shown(file).includes(filter)));
const byTitle = !isFull && byPath.length === 0;
const files = byPath.length > 0 ? byPath : all;
const patterns = byTitle ? filters.map(escaped) : [];
const proofs = isFull ? at("build/proofs") : undefined;

for (const folder of [at("build/test-events"), ...(isFull ? [proofs] : [])]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

const results = await runAll();
const tests = results.flatMap(({ file, tests }) => tests.map((test) => ({ file, ...test })));
const failures = tests.filter(({ error }) => error !== undefined);
if (tests.length === 0)
  failures.push({ file: "", title: filters.join(" "), error: "no such test; npm test builds first" });
const totals = { passed: tests.filter(({ error }) => error === undefined).length, failed: failures.length };
if (isFull) {
  writeFileSync(at("build/proofs/run.json"), JSON.stringify({ ...totals, files: files.length }));
  const titles = results.map(({ file, tests }) => [file, tests.map(({ title }) => title)]).sort();
  writeFileSync(at("build/test-titles.json"), `${JSON.stringify(Object.fromEntries(titles), null, 2)}\n`);
}
report();

async function runAll() {
  const queue = files.map((path, number) => ({ path, number }));
  const done = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const result = await runTestFile(next.path, { number: next.number, patterns, proofs });
      if (byTitle) result.tests = result.tests.filter(({ title }) => title !== "has no tests");
      done.push(result);
      if (!json) show(result);
    }
  };
  await Promise.all([work(), work()]);
  return done;
}

function show({ file, tests, written }) {
  if (tests.length > 0) console.log(`\n${file}`);
  for (const { title, nesting, ms, error } of tests) {
    console.log(`${"  ".repeat(nesting + 1)}${error === undefined ? "ok  " : "FAIL"} ${title} (${ms} ms)`);
  }
  if (written !== "") process.stderr.write(`${written}\n`);
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function report() {
  process.exitCode = failures.length === 0 ? 0 : 1;
  const told = failures.map(({ file, title, error }) => ({ file, title, message: error }));
  if (json) return console.log(JSON.stringify({ ...totals, full: isFull, failures: told }, null, 2));
  for (const { file, title, message } of told) console.log(`\nFAIL ${file}: ${title}\n${message}`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
