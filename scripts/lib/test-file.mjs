import { existsSync, readFileSync } from "node:fs";
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
 * Runs one test file in its own process: `{ file, tests: [{ title, nesting, ms, error? }], written }`. A file that
 * fails outside of its tests (while loading, by a late error, by not ending) gets a failed test that says so. `flags`
 * are further options of Node, `env` further variables, `folder` is the folder of the events, `program` the Node that
 * runs the file.
 */
export async function runTestFile(path, { number, patterns, proofs, flags = [], env: more = {}, ...rest }) {
  const { limitMs = LIMIT_MS, folder = at("build/test-events"), program = process.execPath } = rest;
  const events = join(folder, `${number}.jsonl`);
  const options = [...sourceMaps(path), `--test-reporter=${reporter}`, `--test-reporter-destination=${events}`];
  const chosen = patterns.map((pattern) => `--test-name-pattern=${pattern}`);
  const env = { ...process.env, ...more, ...(proofs === undefined ? {} : { BOWLINE_PROOFS: proofs }) };
  const { code, output } = await exec(program, [...flags, ...options, ...chosen, path], { env, timeoutMs: limitMs });
  const records = existsSync(events) ? lines(readFileSync(events, "utf8")).map((line) => JSON.parse(line)) : [];
  const warnings = records.filter(({ kind }) => kind === "warning").map(({ message }) => message);
  const tests = records
    .filter((record) => record.kind === "test" && !record.isDerived)
    .map((test) => state(test, patterns));
  const written = [...warnings, output.trim()].filter((text) => text !== "").join("\n");
  const isBroken = code !== 0 && !tests.some((test) => test?.error !== undefined);
  if (isBroken) tests.push({ title: "outside of its tests", nesting: 0, ms: 0, error: written || `exit code ${code}` });
  if (tests.length === 0)
    tests.push({ title: "has no tests", nesting: 0, ms: 0, error: "a test file registers tests" });
  return { file: shown(path), tests: tests.filter((test) => test !== undefined), written };
}

/** Stacks name lines of the sources, except in tests that measure memory or count promises. */
const sourceMaps = (path) => (/\/(leaks|hot-path)\//.test(shown(path)) ? [] : ["--enable-source-maps"]);

/** With a title filter, Node 20 reports the other tests as skipped. They are left out of the result. */
function state({ name, nesting, ms, isLeftOut, error }, patterns) {
  if (isLeftOut && patterns.length > 0) return undefined;
  const problem = isLeftOut ? "a test may be neither skipped nor to do" : error;
  return { title: name, nesting, ms, ...(problem === undefined ? {} : { error: problem }) };
}
