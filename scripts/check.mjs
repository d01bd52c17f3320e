import { api } from "./check-api.mjs";
import { bleed } from "./check-bleed.mjs";
import { browsers } from "./check-browsers.mjs";
import { declarations } from "./check-declarations.mjs";
import { docs } from "./check-docs.mjs";
import { house } from "./check-house.mjs";
import { instantiations } from "./check-instantiations.mjs";
import { unused } from "./check-knip.mjs";
import { layers } from "./check-layers.mjs";
import { pack } from "./check-pack.mjs";
import { programs } from "./check-programs.mjs";
import { sizes } from "./check-sizes.mjs";
import { line, perform } from "./lib/check.mjs";
import { execNode } from "./lib/exec.mjs";
import { readRun } from "./lib/full-run.mjs";
import { at, wantsJson } from "./lib/project.mjs";
import { format, packageLint, resolvedTypes, types } from "./lib/tools.mjs";
import { requirements } from "./requirements.mjs";
import { paths } from "./trace.mjs";

/**
 * Runs the checks: `node scripts/check.mjs [name ...] [--json]`. Without names it runs all. A name is a part of the
 * name of a check, such as `format` or `layers`.
 */
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));

/** Maximum time of all tests: a machine that does nothing else needs a sixth of it. */
const TESTS_MS = 1_800_000;

/** Uses the last full test run if it was of these very files, and runs all tests in another process if not. */
const tests = {
  name: "tests",
  async run() {
    const run = await readRun();
    if (run?.isCurrent) return outcomeOf(run);
    const { stdout, stderr } = await execNode([at("scripts/test.mjs"), "--json"], { timeoutMs: TESTS_MS });
    const parsed = stdout.trimStart().startsWith("{") ? JSON.parse(stdout) : undefined;
    if (parsed === undefined) return { problems: [stdout, stderr] };
    counts = { passed: parsed.passed, failed: parsed.failed };
    const problems = parsed.failures.map(({ file, title, message }) => `${file}: ${title}\n${message}`);
    return { problems, note: `${parsed.passed} passed, ${parsed.failed} failed` };
  },
};

/** Returns the result of an earlier run. A test that failed there is named; `npm test` told why. */
function outcomeOf({ passed, failed, failures, endedAt }) {
  const told = `${passed} passed, ${failed} failed in the full run that ended at ${endedAt}`;
  if (failed === 0) return { problems: [], note: told };
  return { problems: [`${told}; npm test runs them again`, ...failures.map(({ file, title }) => `${file}: ${title}`)] };
}

/** Number of checks that run at once. Most wait for a compiler or a bundler, which uses a core. */
const AT_ONCE = 2;

/** Groups of checks. Those of a group are independent, and need what the groups before them have built. */
const source = [types, format, layers, house];
const built = [
  declarations,
  programs,
  browsers,
  bleed,
  unused,
  sizes,
  api,
  packageLint,
  resolvedTypes,
  pack,
  docs,
  instantiations,
  paths,
];
/** The tests use both cores, and the requirements read their proofs. */
const proofs = [[tests], [requirements]];

/** Counts of the tests that ran here. Undefined if none did. */
let counts;
const json = wantsJson();
const results = [];
for (const group of [source, built, ...proofs]) {
  const queue = group.filter(isChosen);
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const result = isUnbuilt(next) ? notRun(next) : await perform(next);
      results.push(result);
      if (!json) console.log(line(result));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function isChosen({ name }) {
  return names.length === 0 || names.some((part) => name.includes(part));
}

function isUnbuilt(check) {
  return !source.includes(check) && results.some(({ name, ok }) => name === types.name && !ok);
}

/** Counts each test that ran here, and each other check as one: tests of an earlier run were counted by that run. */
function totalsOf() {
  const ones = results.filter(({ name }) => name !== tests.name || counts === undefined);
  const good = ones.filter(({ ok }) => ok).length;
  const { passed, failed } = counts ?? { passed: 0, failed: 0 };
  return { passed: passed + good, failed: failed + ones.length - good };
}

function notRun({ name }) {
  return { name, ok: false, ms: 0, note: "", problems: ["not run: the build failed"], warnings: [] };
}

if (results.length === 0)
  results.push({ ...notRun({ name: names.join(" ") }), problems: ["no check has such a name"] });
const failed = results.filter(({ ok }) => !ok);
const totals = totalsOf();
process.exitCode = failed.length === 0 ? 0 : 1;
if (json) console.log(JSON.stringify({ ok: failed.length === 0, totals, tests: counts, checks: results }, null, 2));
else {
  for (const { name, problems } of failed) {
    console.log(`\nFAIL ${name}: ${problems.length} problem(s)\n${problems.map((text) => `  ${text}`).join("\n")}`);
  }
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
