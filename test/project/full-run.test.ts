import { deepEqual, equal } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";

interface FullRun {
  stateOfProject(): Promise<string | undefined>;
  writeRun(run: object): void;
  readRun(): Promise<{ readonly passed: number; readonly isCurrent: boolean } | undefined>;
}

/** Returns a project of its own with the scripts that record a run. */
async function newProject(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-run-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "scripts/lib"), { recursive: true });
  mkdirSync(join(folder, "build/proofs"), { recursive: true });
  for (const name of ["full-run", "exec", "project"]) {
    const path = `scripts/lib/${name}.mjs`;
    copyFileSync(new URL(`../../../${path}`, import.meta.url), join(folder, path));
  }
  const scripts: FullRun = await import(pathToFileURL(join(folder, "scripts/lib/full-run.mjs")).href);
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  return { ...scripts, folder, write };
}

test("a full run is current until a file of the project changes", async (t) => {
  const { folder, write, stateOfProject, writeRun, readRun } = await newProject(t);
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  write(".gitignore", "build\n");
  write("a.ts", "1");
  equal(await readRun(), undefined);
  writeRun({ passed: 7, state: await stateOfProject() });
  const isCurrent = async () => (await readRun())?.isCurrent;
  deepEqual([(await readRun())?.passed, await isCurrent()], [7, true]);
  write("build/b.js", "an output");
  equal(await isCurrent(), true);
  write("a.ts", "2");
  equal(await isCurrent(), false);
  write("a.ts", "1");
  equal(await isCurrent(), true);
  write("new.md", "a file that is not committed");
  equal(await isCurrent(), false);
});

test("without git no run is current", async (t) => {
  const { folder, stateOfProject, writeRun, readRun } = await newProject(t);
  writeRun({ passed: 7, state: await stateOfProject() });
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  equal((await readRun())?.isCurrent, false);
});
