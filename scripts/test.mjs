import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { stateOfProject, writeRun } from "./lib/full-run.mjs";
import { at, filesBelow, wantsJson } from "./lib/project.mjs";
import { selectTests, sourceOf } from "./lib/select-tests.mjs";
import { runTestFiles } from "./lib/test-files.mjs";

/**
 * Runs the built tests, two files at a time: `node scripts/test.mjs [filter ...] [--title <part>] [--wire <wire>]
 * [--watch] [--json]`. A filter is a part of a file's path or, if no file has it, a part of a title. `--title` is
 * always a part of a title. `--wire` chooses a wire (`modern-stdio`), an era or a transport. `--watch` builds after each
 * change, and runs those of the chosen files that import it.
 *
 * A run without filters is a full run. It replaces the proofs and the outcome in build/proofs, which the checks read. A
 * filtered run does not change them.
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
const isFull = filters.length === 0 && options.title.length === 0 && options.wire === undefined;
const proofs = at("build/proofs");
const { files, patterns } = selection();

if (options.watch) await watch();
else process.exitCode = (await run()) ? 0 : 1;

function selection() {
  const found = [at("build/test"), at("interop/dist")].flatMap((folder) => filesBelow(folder, ".test.js"));
  // Tests that need an engine, such as Redis, run by `npm run engines`.
  const isEngines = (file) => file.startsWith(at("build/test/engines"));
  // The build leaves the outputs of deleted tests.
  const all = found.filter((file) => !isEngines(file) && existsSync(at(sourceOf(file))));
  const { files, patterns } = selectTests(all, { filters, titles: options.title, wire: options.wire });
  return { files: options.wire === undefined ? files : files.filter(hasWires), patterns };
}

/** True if the tests of the file can have a wire. Only `verifies` and `proves` add one to a title. */
function hasWires(file) {
  return readFileSync(file, "utf8").includes("/support/verifies.js");
}

/** Leaves it to the compiler to build each change, and to Node to run the files that import it. */
async function watch() {
  const chosen = patterns.map((pattern) => `--test-name-pattern=${pattern}`);
  const flags = ["--watch", "--watch-preserve-output", "--enable-source-maps", "--test-reporter=spec", ...chosen];
  const node = (args) => spawn(process.execPath, args, { cwd: at(), stdio: "inherit" });
  const compiler = node([at("node_modules/typescript/bin/tsc"), "-b", "--watch", "--preserveWatchOutput"]);
  await once(node([...flags, "--test", ...files]), "exit");
  compiler.kill();
}

async function run() {
  if (isFull) {
    rmSync(proofs, { recursive: true, force: true });
    mkdirSync(proofs, { recursive: true });
  }
  const state = isFull ? await stateOfProject() : undefined;
  const runs = files.map((path) => ({ path }));
  const env = isFull ? { BOWLINE_PROOFS: proofs } : {};
  const tests = [];
  await runTestFiles(runs, { atOnce: 2, patterns, env }, (result) => {
    tests.push(...result.tests.map((test) => ({ file: result.file, ...test })));
    if (!json) show(result);
  });
  const failures = tests.filter(({ error }) => error !== undefined);
  const totals = { passed: tests.length - failures.length, failed: failures.length };
  if (tests.length === 0) {
    const title = process.argv.slice(2).join(" ");
    failures.push({ file: "", title, error: "no test matches; npm test builds before it runs" });
    totals.failed = 1;
  }
  if (isFull) writeRun({ ...totals, state, failures: failures.map(({ file, title }) => ({ file, title })) });
  report(totals, failures);
  return failures.length === 0;
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
