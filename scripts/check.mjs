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
import { sizes } from "./check-sizes.mjs";
import { line, perform } from "./lib/check.mjs";
import { execNode } from "./lib/exec.mjs";
import { at, wantsJson } from "./lib/project.mjs";
import { format, packageLint, resolvedTypes, types } from "./lib/tools.mjs";
import { requirements } from "./requirements.mjs";

/**
 * Runs the checks: `node scripts/check.mjs [name ...] [--json]`. Without names it runs all. A name is a part of the
 * name of a check, such as `format` or `layers`.
 */
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));

/** Runs all tests in another process. */
const tests = {
  name: "tests",
  async run() {
    const { stdout, stderr } = await execNode([at("scripts/test.mjs"), "--json"], { timeoutMs: 600_000 });
    const parsed = stdout.trimStart().startsWith("{") ? JSON.parse(stdout) : undefined;
    if (parsed === undefined) return { problems: [stdout, stderr] };
    counts = { passed: parsed.passed, failed: parsed.failed };
    const problems = parsed.failures.map(({ file, title, message }) => `${file}: ${title}\n${message}`);
    return { problems, note: `${parsed.passed} passed, ${parsed.failed} failed` };
  },
};

/** Order of the checks: quick ones that fail often come first. The requirements check reads the proofs of the tests. */
const source = [format, types, layers, house, unused];
const built = [
  bleed,
  sizes,
  api,
  packageLint,
  resolvedTypes,
  pack,
  browsers,
  declarations,
  docs,
  instantiations,
  tests,
  requirements,
];

let counts = { passed: 0, failed: 0 };
const json = wantsJson();
const results = [];
for (const check of [...source, ...built].filter(isChosen)) {
  const result = isUnbuilt(check) ? notRun(check) : await perform(check);
  results.push(result);
  if (!json) console.log(line(result));
}

function isChosen({ name }) {
  return names.length === 0 || names.some((part) => name.includes(part));
}

function isUnbuilt(check) {
  return built.includes(check) && results.some(({ name, ok }) => name === types.name && !ok);
}

/** Counts each test, and each other check as one. */
function totalsOf() {
  const others = results.filter(({ name }) => name !== tests.name);
  const good = others.filter(({ ok }) => ok).length;
  const isLost = counts.failed === 0 && failed.some(({ name }) => name === tests.name);
  return { passed: counts.passed + good, failed: counts.failed + others.length - good + (isLost ? 1 : 0) };
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
  for (const { name, problems } of failed) console.log(`\n${name}:\n${problems.map((text) => `  ${text}`).join("\n")}`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
