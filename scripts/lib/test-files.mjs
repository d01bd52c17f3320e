import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exec, lines } from "./exec.mjs";
import { at, shown } from "./project.mjs";

const reporter = pathToFileURL(at("scripts/lib/test-reporter.mjs")).href;

/**
 * Maximum time of a file. A file that exceeds it has a test that hangs, or keeps something open, and fails. The longest
 * needs two minutes on a machine with seven times as much work as cores.
 */
const LIMIT_MS = 600_000;

/**
 * Runs test files, `atOnce` at a time, and calls `onResult` with each result. A run is `{ path, program, where }`, of which
 * the Node that runs the file and a text behind its name may be left out. Other options are those of {@link runTestFile}.
 */
export async function runTestFiles(runs, { atOnce, ...options }, onResult) {
  const queue = [...runs];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { path, program, where = "" } = next;
      const result = await runTestFile(path, { ...options, program });
      onResult({ ...result, file: result.file + where });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/**
 * Runs one test file in its own process, so that each test is reported with its file: `{ file, tests: [{ title, nesting,
 * ms, error? }], written }`. A file that fails outside of its tests (while loading, by a late error, by not ending) gets a
 * failed test that says so. So does one without tests, unless `patterns` choose tests by their titles. `flags` are further
 * options of Node, `env` further variables, `program` is the Node that runs the file.
 */
export async function runTestFile(path, { patterns = [], flags = [], env = {}, limitMs = LIMIT_MS, program } = {}) {
  const events = join(tmpdir(), `bowline-tests-${randomUUID()}.jsonl`);
  const options = [...sourceMaps(path), `--test-reporter=${reporter}`, `--test-reporter-destination=${events}`];
  const chosen = patterns.map((pattern) => `--test-name-pattern=${pattern}`);
  const { code, output } = await exec(program ?? process.execPath, [...flags, ...options, ...chosen, path], {
    env: { ...process.env, ...env },
    timeoutMs: limitMs,
  });
  const records = existsSync(events) ? lines(readFileSync(events, "utf8")).map((line) => JSON.parse(line)) : [];
  rmSync(events, { force: true });
  const warnings = records.filter(({ kind }) => kind === "warning").map(({ message }) => message);
  const written = [...warnings, output.trim()].filter((text) => text !== "").join("\n");
  const tests = records
    .filter(({ kind, isDerived }) => kind === "test" && !isDerived)
    .flatMap((test) => outcomeOf(test, patterns));
  const fail = (title, error) => tests.push({ title, nesting: 0, ms: 0, error });
  if (code !== 0 && tests.every(({ error }) => error === undefined))
    fail("outside of its tests", written || `exit code ${code}`);
  if (tests.length === 0 && patterns.length === 0) fail("has no tests", "a test file registers tests");
  return { file: shown(path), tests, written };
}

/** Stacks name lines of the sources, except in tests that measure memory or count promises. */
const sourceMaps = (path) => (/\/(leaks|hot-path)\//.test(shown(path)) ? [] : ["--enable-source-maps"]);

/** With a title filter, Node 20 reports the other tests as skipped. They are left out of the result. */
function outcomeOf({ name, nesting, ms, isLeftOut, error }, patterns) {
  if (isLeftOut && patterns.length > 0) return [];
  const problem = isLeftOut ? "a test may be neither skipped nor to do" : error;
  return [{ title: name, nesting, ms, ...(problem === undefined ? {} : { error: problem }) }];
}
