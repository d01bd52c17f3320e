import { parseArgs } from "node:util";
import { chromium, findChromium, openChromium } from "../scripts/lib/chromium.mjs";
import { install } from "../scripts/lib/engines.mjs";
import { at, filesBelow, wantsJson } from "../scripts/lib/project.mjs";
import { World } from "./world.mjs";

/**
 * Runs the scenarios of the inspector's page in Chromium: `node browser/run.mjs [filter ...] [--timing] [--install]
 * [--json]`. A filter is a part of a scenario's title, or of its file's name. `--timing` runs those that measure time, and
 * no other: they need a quiet machine. `--install` installs Chromium by apt-get.
 */
const { values, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: { timing: { type: "boolean" }, install: { type: "boolean" }, json: { type: "boolean" } },
});
const json = wantsJson();

/** Longest time of a scenario. One that hangs is a failure, and the others run all the same. */
const SCENARIO_MS = 60_000;

const results = [];
const program = await programOf().catch(
  (error) => results.push({ title: "Chromium", problem: error.message }) && undefined,
);
if (program !== undefined) await runAll(program);
report();

async function programOf() {
  try {
    return findChromium();
  } catch (error) {
    if (!values.install) throw error;
    const problem = await install([chromium.debian]);
    if (problem !== undefined) throw new Error(problem);
    return findChromium();
  }
}

async function runAll(path) {
  const browser = await openChromium(path);
  try {
    for (const file of filesBelow(at("browser/scenarios"), ".mjs")) {
      const { scenarios, timings = {} } = await import(file);
      const name = file.slice(at("browser/scenarios").length + 1, -".mjs".length);
      for (const [title, act] of Object.entries(values.timing ? timings : scenarios)) {
        const whole = `${name}: ${title}`;
        if (filters.length > 0 && !filters.some((filter) => whole.includes(filter))) continue;
        const result = await perform(browser, whole, act);
        results.push(result);
        if (!json)
          console.log(
            `${result.problem === undefined ? "ok  " : "FAIL"} ${whole}${result.note ? `  ${result.note}` : ""}`,
          );
      }
    }
  } finally {
    await browser.close();
  }
}

async function perform(browser, title, act) {
  const world = new World(browser);
  let timer;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`did not end within ${SCENARIO_MS / 1000} s`)), SCENARIO_MS);
    });
    const note = await Promise.race([act(world), late]);
    return { title, ...(typeof note === "string" && { note }), ...problemOf(world.told) };
  } catch (error) {
    return { title, problem: [error.stack, ...world.told].join("\n") };
  } finally {
    clearTimeout(timer);
    await world.close();
  }
}

function problemOf(told) {
  return told.length === 0 ? {} : { problem: told.join("\n") };
}

function report() {
  const failed = results.filter(({ problem }) => problem !== undefined);
  if (results.length === 0) failed.push({ title: filters.join(" "), problem: "no scenario has such a title" });
  const totals = {
    passed: results.length - results.filter(({ problem }) => problem !== undefined).length,
    failed: failed.length,
  };
  process.exitCode = failed.length === 0 ? 0 : 1;
  if (json) return console.log(JSON.stringify({ ok: failed.length === 0, totals, scenarios: results }, null, 2));
  for (const { title, problem } of failed) console.log(`\nFAIL ${title}\n${problem}`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
