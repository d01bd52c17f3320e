import { parseArgs } from "node:util";
import { absence, engines, enginesOf, install, needsNewerNodes, newerNodes, placeOf, runsOf } from "./lib/engines.mjs";
import { at, filesBelow, shown, wantsJson } from "./lib/project.mjs";
import { selectTests } from "./lib/select-tests.mjs";
import { runTestFiles } from "./lib/test-files.mjs";
import { chosenWires, isWireFilter, KnownDifferences, runWires } from "./lib/wires.mjs";

/**
 * Runs the built tests in test/engines, which need engines such as Redis: `node scripts/engines.mjs [filter ...]
 * [--install] [--json]`. A filter is a part of a file's path or, if no file has it, a part of a title. An engine is the
 * one at the address in its variable (REDIS_URL, DATABASE_URL), or a program of this machine that the tests start. An
 * engine that is not available is reported, and tests that need it are left out, which is no failure. `--install`
 * installs missing ones by apt-get, and is a failure if one is missing after that. Tests of
 * SQLite and of private parts of Node run on several versions of Node, which are fetched.
 *
 * Then runs the scenarios on two nodes behind nginx, on each engine. `wires` or a part of a wire's name with `nginx-` in it
 * (`nginx-redis`, `legacy-nginx-redis`) chooses these alone; other filters then choose scenarios.
 */
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: { install: { type: "boolean", default: false }, json: { type: "boolean", default: false } },
});
const json = wantsJson();

/** Number of files that run at once. They wait for engines and for the ends of lives most of the time. */
const AT_ONCE = 4;

const isOnWires = filters.some(isWireFilter);
const wires = filters.length === 0 || isOnWires ? chosenWires(filters) : [];
const { files, patterns } = isOnWires
  ? { files: [], patterns: [] }
  : selectTests(filesBelow(at("build/test/engines"), ".test.js"), { filters });
const needed = new Set([...files.flatMap(enginesOf), ...wires.flatMap(({ engine }) => [engine, "nginx"])]);
const wanted = Object.entries(engines).filter(([name]) => needed.has(name));
const notes = [];
const failures = [];

if (options.install) {
  const missing = () => wanted.filter(([, engine]) => placeOf(engine) === undefined);
  const problem = await install(missing().map(([, { debian }]) => debian));
  const problems = problem === undefined ? missing().map(([name, engine]) => absence(name, engine)) : [problem];
  for (const message of problems) failures.push({ file: "scripts/engines.mjs", title: "--install", message });
}
const places = new Map(wanted.map(([name, engine]) => [name, placeOf(engine)]));
for (const [name, engine] of wanted) {
  const place = places.get(name);
  notes.push(place === undefined ? absence(name, engine) : `${name}: ${place}`);
}
const nodes = files.some(needsNewerNodes) ? await newerNodes() : [];
for (const { version, problem } of nodes) notes.push(problem ?? `node: ${version}`);
if (!json) for (const note of notes) console.log(note);

const known = new KnownDifferences();
let passed = 0;
const isAvailable = (name) => places.get(name) !== undefined;
const queue = files.filter((path) => enginesOf(path).every(isAvailable)).flatMap((path) => runsOf(path, nodes));
const isAbsent = (path) => queue.every((run) => run.path !== path);
const isLeftOut = files.some(isAbsent) || !wires.every(({ engine }) => isAvailable(engine));
await runTestFiles(queue, { atOnce: AT_ONCE, patterns }, count);
await runAllWires();
if (!isLeftOut && passed + failures.length + known.count === 0) {
  failures.push({ file: shown(at("build/test/engines")), title: filters.join(" "), message: "no test matches" });
}
process.exitCode = failures.length === 0 ? 0 : 1;
report({ passed, known: known.count, failed: failures.length });

async function runAllWires() {
  if (!isAvailable("nginx")) return;
  for (const name of new Set(wires.map(({ engine }) => engine))) {
    const chosen = wires.filter(({ engine }) => engine === name);
    if (isAvailable(name)) await runWires(name, chosen, filters, count);
  }
  const isFull = !isLeftOut && filters.every((filter) => filter === "wires");
  for (const { title, wire } of isFull ? known.unused() : [])
    failures.push({ file: "test/support/nodes/known.json", title: `${title} [${wire}]`, message: "no test has it" });
}

function count({ file, tests, written }) {
  if (!json && tests.length > 0) console.log(`\n${file}`);
  for (const { title, nesting, ms, error } of tests) {
    const problem = known.judge({ title, error });
    const isKnown = problem === undefined && error !== undefined;
    if (problem !== undefined) failures.push({ file, title, message: problem });
    else if (!isKnown) passed++;
    const word = isKnown ? "known" : problem === undefined ? "ok  " : "FAIL";
    if (!json) console.log(`${"  ".repeat(nesting + 1)}${word} ${title} (${ms} ms)`);
  }
  if (!json && written !== "") process.stderr.write(`${written}\n`);
}

function report(totals) {
  if (json) return console.log(JSON.stringify({ ...totals, engines: notes, failures }, null, 2));
  for (const { file, title, message } of failures) console.log(`\nFAIL ${file}: ${title}\n${message}`);
  if (totals.known > 0) console.log(`\n${totals.known} known differences of two nodes`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
