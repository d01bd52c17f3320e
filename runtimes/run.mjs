import { install } from "../scripts/lib/engines.mjs";
import { exec } from "../scripts/lib/exec.mjs";
import { at, readJson, wantsJson } from "../scripts/lib/project.mjs";
import { runInChromium } from "./chromium.mjs";
import { programOf, runtimes } from "./programs.mjs";
import { hostProgram, stageSuite } from "./stage.mjs";
import { runInWorkerd } from "./workerd.mjs";

/**
 * Runs the suite on each runtime, with the package as users install it: `node runtimes/run.mjs [filter ...]
 * [--install] [--json]`. A filter is a part of a runtime's name. A runtime that cannot be had on this platform is
 * reported and is not a failure. `--install` installs the browser by apt-get, and is a failure if it is missing after
 * that. known.json lists what a runtime cannot do,
 * with a reason.
 */
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = wantsJson();
const known = readJson(at("runtimes/known.json"));
const chosen = runtimes.filter(({ name }) => filters.length === 0 || filters.some((filter) => name.includes(filter)));
const results = [];
const installs = process.argv.includes("--install");
const installProblem = installs ? await installMissing() : undefined;
let staged;
for (const runtime of chosen) {
  const result = await run(runtime);
  results.push(result);
  if (!json) console.log(describe(result));
}
report();

/** Installs the runtimes that Debian has and that are not there. Returns a problem, or undefined. */
async function installMissing() {
  const missing = [];
  for (const runtime of chosen.filter(({ debian }) => debian !== undefined)) {
    await programOf(runtime).catch(() => missing.push(runtime.debian));
  }
  return install(missing);
}

async function run(runtime) {
  const { name } = runtime;
  let program;
  try {
    program = await programOf(runtime);
  } catch (error) {
    if (!installs || runtime.debian === undefined) return { name, unavailable: error.message, outcomes: [] };
    const problem = installProblem ?? error.message;
    return { name, unavailable: problem, outcomes: [{ wire: "-", check: "install", problem }] };
  }
  staged ??= stageSuite();
  await staged;
  const { output } = await exec(program, ["--version"]);
  const version = /\d+\.\d+\.\d+|\d{4}-\d\d-\d\d/.exec(output)?.[0] ?? "unknown";
  const begun = performance.now();
  const outcomes = await outcomesOf(runtime, program).catch((error) => [
    { wire: "-", check: "start", problem: error.message },
  ]);
  return { name, version, seconds: Math.round((performance.now() - begun) / 100) / 10, outcomes };
}

async function outcomesOf({ kind }, program) {
  if (kind === "workerd") return runInWorkerd(program);
  if (kind === "chromium") return runInChromium(program);
  const suite = hostProgram(kind);
  const args = kind === "deno" ? ["run", "--allow-all", "--no-lock", suite] : [suite];
  const { code, stdout, output } = await exec(program, args, { timeoutMs: 120_000 });
  if (code !== 0) throw new Error(`ended with exit code ${code}: ${output.trim()}`);
  return JSON.parse(stdout);
}

function describe({ name, version, seconds, unavailable, outcomes }) {
  if (unavailable !== undefined) return `${name.padEnd(16)}not run: ${unavailable}`;
  const wires = [...new Set(outcomes.map(({ wire }) => wire.split(" ")[0]))];
  const cells = wires.map((wire) => {
    const own = outcomes.filter((outcome) => outcome.wire.startsWith(wire));
    return `${wire} ${own.filter(({ problem }) => problem === undefined).length}/${own.length}`;
  });
  return [name.padEnd(16), version.padEnd(12), `${seconds} s`.padEnd(8), cells.join("  ")].join("");
}

function report() {
  const all = results.flatMap(({ name, outcomes }) => outcomes.map((outcome) => ({ runtime: name, ...outcome })));
  const failed = all.filter(({ problem }) => problem !== undefined);
  const differences = known.filter((entry) => failed.some((outcome) => concerns(entry, outcome)));
  const failures = failed.filter((outcome) => !known.some((entry) => concerns(entry, outcome)));
  const stale = known.filter(
    (entry) => all.some((outcome) => concerns(entry, outcome)) && !differences.includes(entry),
  );
  const totals = { passed: all.length - failed.length, known: differences.length, failed: failures.length };
  process.exitCode = failures.length + stale.length === 0 && chosen.length > 0 ? 0 : 1;
  if (json) {
    const ok = process.exitCode === 0;
    console.log(JSON.stringify({ ok, totals, failures, stale, differences, runtimes: results }, null, 2));
    return;
  }
  for (const { runtime, wire, check, reason } of differences) say("known:", runtime, wire, check, reason);
  for (const { runtime, wire, check, problem } of failures) say("FAIL", runtime, wire, check, problem);
  for (const { runtime, wire, check } of stale) say("FAIL known.json:", runtime, wire, check, "does not fail any more");
  if (totals.known > 0) console.log(`\n${totals.known} known differences`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}

function say(heading, runtime, wire, check, text) {
  console.log(`${heading} ${runtime}: ${wire}: ${check}: ${text}`);
}

function concerns(entry, { runtime, wire, check }) {
  return entry.runtime === runtime && entry.wire === wire && entry.check === check;
}
