import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { absence, engines, enginesOf, install, placeOf } from "./lib/engines.mjs";
import { at, filesBelow, shown, wantsJson } from "./lib/project.mjs";
import { selectTests } from "./lib/select-tests.mjs";
import { runTestFile } from "./lib/test-file.mjs";

/**
 * Runs the built tests in test/engines, which need engines such as Redis: `node scripts/engines.mjs [filter ...]
 * [--install] [--json]`. A filter is a part of a file's path or, if no file has it, a part of a title. An engine is the
 * one at the address in its variable (REDIS_URL, DATABASE_URL), or a program of this machine that the tests start. An
 * engine that is not available is reported, and tests that need it are left out, which is no failure. `--install`
 * installs missing ones by apt-get.
 */
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: { install: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});
const json = wantsJson();

/** Number of files that run at once. They wait for engines and for the ends of lives most of the time. */
const AT_ONCE = 4;

const { files, patterns } = selectTests(filesBelow(at("build/test/engines"), ".test.js"), { filters });
const needed = new Set(files.flatMap(enginesOf));
const wanted = Object.entries(engines).filter(([name]) => needed.has(name));
const notes = [];

if (options.install) {
  const missing = wanted.filter(([, engine]) => placeOf(engine) === undefined).map(([, { debian }]) => debian);
  const problem = await install(missing);
  if (problem !== undefined) notes.push(problem);
}
const places = new Map(wanted.map(([name, engine]) => [name, placeOf(engine)]));
for (const [name, engine] of wanted) {
  const place = places.get(name);
  notes.push(place === undefined ? absence(name, engine) : `${name}: ${place}`);
}
if (!json) for (const note of notes) console.log(note);

const failures = [];
let passed = 0;
mkdirSync(at("build/test-events"), { recursive: true });
const isAvailable = (name) => places.get(name) !== undefined;
const queue = files.filter((path) => enginesOf(path).every(isAvailable)).map((path, number) => ({ path, number }));
const isLeftOut = queue.length < files.length;
await Promise.all(Array.from({ length: AT_ONCE }, work));
if (!isLeftOut && passed + failures.length === 0) {
  failures.push({ file: shown(at("build/test/engines")), title: filters.join(" "), message: "no test matches" });
}
process.exitCode = failures.length === 0 ? 0 : 1;
report({ passed, failed: failures.length });

/** Runs files until none is left. */
async function work() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const result = await runTestFile(next.path, { number: `engines-${next.number}`, patterns });
    if (patterns.length > 0) result.tests = result.tests.filter(({ title }) => title !== "has no tests");
    count(result);
  }
}

function count({ file, tests, written }) {
  if (!json && tests.length > 0) console.log(`\n${file}`);
  for (const { title, nesting, ms, error } of tests) {
    if (error === undefined) passed++;
    else failures.push({ file, title, message: error });
    if (!json) console.log(`${"  ".repeat(nesting + 1)}${error === undefined ? "ok  " : "FAIL"} ${title} (${ms} ms)`);
  }
  if (!json && written !== "") process.stderr.write(`${written}\n`);
}

function report(totals) {
  if (json) return console.log(JSON.stringify({ ...totals, engines: notes, failures }, null, 2));
  for (const { file, title, message } of failures) console.log(`\nFAIL ${file}: ${title}\n${message}`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
