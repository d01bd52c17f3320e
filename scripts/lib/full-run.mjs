import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { exec } from "./exec.mjs";
import { at, readJson } from "./project.mjs";

/** The outcome of the last full test run, beside its proofs. A run that begins removes it. */
const record = () => at("build/proofs/run.json");

/**
 * Returns a digest of everything that decides the outcome of a test run: the files of the project, committed or not, and
 * the version of Node. Undefined where git does not know the files.
 */
export async function stateOfProject() {
  const { code, stdout } = await exec("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
  if (code !== 0) return undefined;
  const hash = createHash("sha256").update(process.version);
  for (const path of [...new Set(stdout.split("\0"))].filter((path) => path !== "").sort()) {
    const isThere = existsSync(at(path)) && statSync(at(path)).isFile();
    hash.update(`\0${path}\0`).update(isThere ? readFileSync(at(path)) : "");
  }
  return hash.digest("hex");
}

/** Writes the outcome of a full run: the totals, the state of the project at its start, and `{ file, title }` of each failure. */
export function writeRun(run) {
  writeFileSync(record(), `${JSON.stringify({ ...run, endedAt: new Date().toISOString() }, null, 2)}\n`);
}

/** Returns the outcome of the last full run, if it ended, with `isCurrent`: nothing has changed since. */
export async function readRun() {
  if (!existsSync(record())) return undefined;
  const run = readJson(record());
  return { ...run, isCurrent: run.state !== undefined && run.state === (await stateOfProject()) };
}
