import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { stateOfProject, writeRun } from "./lib/full-run.mjs";
import { at, filesBelow, wantsJson } from "./lib/project.mjs";
import { selectTests } from "./lib/select-tests.mjs";
import { runTestFile } from "./lib/test-file.mjs";
import { affectedBy, watchAndBuild } from "./lib/watch-tests.mjs";

/**
 * Runs the built tests, two files at a time: `node scripts/test.mjs [filter ...] [--title <part>] [--wire <wire>]
 * [--watch] [--json]`. A filter is a part of a file's path or, if no file has it, a part of a title. `--title` is
 * always a part of a title. `--wire` chooses a wire (`modern-stdio`), an era or a transport. `--watch` builds and runs
 * again after each change: the chosen files or, if none are chosen, the files that import the change.
 *
 * A run without filters is a full run. It replaces the proofs and the outcome in build/proofs, which the checks read, and
 * build/test-titles.json, which scripts/compare-titles.mjs reads. A filtered run does not change them.
 */
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    title: { type: "string", multiple: true, default: [] },
    wire: { type: "string" },
    watch: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const json = wantsJson();
const isChosen = filters.length > 0 || options.title.length > 0 || options.wire !== undefined;
const isFull = !isChosen && !options.watch;
const proofs = isFull ? at("build/proofs") : undefined;

if (options.watch) {
  const { files } = selection();
  if (isChosen) await run(files);
  console.log(`\nwaiting for a change; ${files.length} files are chosen`);
  await watchAndBuild(async (changed) => {
    const { files } = selection();
    const next = isChosen ? files : affectedBy(changed, files);
    if (next.length === 0) console.log("no test imports the change");
    else await run(next);
  });
} else {
  const ok = await run(selection().files);
  process.exitCode = ok ? 0 : 1;
}

function selection() {
  const found = [at("build/test"), at("interop/dist")].flatMap((folder) => filesBelow(folder, ".test.js"));
  // Tests that need an engine, such as Redis, run by `npm run engines`.
  const all = found.filter((file) => !file.startsWith(at("build/test/engines")));
  const { files, patterns } = selectTests(all, { filters, titles: options.title, wire: options.wire });
  return { files: options.wire === undefined ? files : files.filter(hasWires), patterns };
}

/** True if the tests of the file can have a wire. Only `verifies` and `proves` add one to a title. */
function hasWires(file) {
  return readFileSync(file, "utf8").includes("/support/verifies.js");
}

async function run(files) {
  for (const folder of [at("build/test-events"), ...(isFull ? [proofs] : [])]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  const state = isFull ? await stateOfProject() : undefined;
  const results = await runAll(files);
  const tests = results.flatMap(({ file, tests }) => tests.map((test) => ({ file, ...test })));
  const failures = tests.filter(({ error }) => error !== undefined);
  if (tests.length === 0)
    failures.push({
      file: "",
      title: process.argv.slice(2).join(" "),
      error: "no test matches; npm test builds before it runs",
    });
  const totals = { passed: tests.filter(({ error }) => error === undefined).length, failed: failures.length };
  if (isFull) {
    writeRun({ ...totals, state, failures: failures.map(({ file, title }) => ({ file, title })) });
    const titles = results.map(({ file, tests }) => [file, tests.map(({ title }) => title)]).sort();
    writeFileSync(at("build/test-titles.json"), `${JSON.stringify(Object.fromEntries(titles), null, 2)}\n`);
  }
  report(totals, failures);
  return failures.length === 0;
}

async function runAll(files) {
  const { patterns } = selection();
  const queue = files.map((path, number) => ({ path, number }));
  const done = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const result = await runTestFile(next.path, { number: next.number, patterns, proofs });
      if (patterns.length > 0) result.tests = result.tests.filter(({ title }) => title !== "has no tests");
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

function report(totals, failures) {
  const told = failures.map(({ file, title, error }) => ({ file, title, message: error }));
  if (json) return console.log(JSON.stringify({ ...totals, full: isFull, failures: told }, null, 2));
  for (const { file, title, message } of told) console.log(`\nFAIL ${file}: ${title}\n${message}`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
