import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { wantsJson } from "./project.mjs";

/**
 * Runs a check. A check is `{ name, run }`. `run` returns `{ problems, warnings, note }`: one line per problem, none if
 * the check passes; lines for a reviewer, which fail nothing; and a remark for the report. A check that throws has failed.
 */
export async function perform(check) {
  const start = performance.now();
  const outcome = await check.run().catch((error) => ({ problems: [error.stack ?? String(error)] }));
  const { problems, warnings = [], note = "" } = outcome;
  const ms = Math.round(performance.now() - start);
  return { name: check.name, ok: problems.length === 0, ms, note, problems, warnings };
}

export function line(result) {
  const mark = result.ok ? "ok  " : "FAIL";
  const remark = result.ok ? result.note : `${result.problems.length} problem(s)`;
  const heading = `${mark} ${result.name.padEnd(16)} ${(result.ms / 1000).toFixed(1).padStart(6)} s  ${remark}`;
  return [heading, ...result.warnings.map((text) => `     warning: ${text}`)].join("\n");
}

/** Runs the check if its file was started as a program. */
export async function alone(url, check) {
  if (process.argv[1] === undefined || realpathSync(process.argv[1]) !== fileURLToPath(url)) return;
  const result = await perform(check);
  process.exitCode = result.ok ? 0 : 1;
  if (wantsJson()) return console.log(JSON.stringify(result, null, 2));
  for (const problem of result.problems) console.log(problem);
  console.log(line(result));
}
