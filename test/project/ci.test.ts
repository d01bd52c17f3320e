import { deepEqual } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

const one = "echo 1 passed, 0 failed";

/** Runs a copy of `.ci/run` with an npm that runs these lines of a shell. Returns the exit code and the output. */
function runCi(t: TestContext, npm: Readonly<Record<"ci" | "check" | "engines", string>> & { runtimes?: string }) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-ci-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, ".ci"));
  copyFileSync(new URL("../../../.ci/run", import.meta.url), join(folder, ".ci/run"));
  const branches = `case "$*" in ci) ${npm.ci} ;; *engines*) ${npm.engines} ;; *runtimes*) ${npm.runtimes ?? one} ;; *simulate*) ${one} ;; *) ${npm.check} ;; esac`;
  writeFileSync(join(folder, "npm"), `#!/bin/sh\n${branches}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const { status, stdout } = spawnSync("bash", [join(folder, ".ci/run")], { env, encoding: "utf8" });
  return { status, lines: stdout.split("\n").filter((line) => line !== "") };
}

const good = "echo works; echo; echo 5 passed, 0 failed";

test("CI adds the tests of the engines to the checks", (t) => {
  const engines = 'echo "$*"; echo 3 passed, 0 failed';
  deepEqual(runCi(t, { ci: ":", check: good, engines }), {
    status: 0,
    lines: ["works", "run --silent engines -- --install", "11 passed, 0 failed"],
  });
});

test("CI runs the suite of the runtimes in a browser", (t) => {
  const runtimes = 'echo "$*"; echo 3 passed, 1 failed; exit 1';
  deepEqual(runCi(t, { ci: ":", check: good, engines: one, runtimes }), {
    status: 1,
    lines: ["works", "run --silent runtimes -- --install chromium", "11 passed, 1 failed"],
  });
});

test("CI fails if a check or a test of an engine fails", (t) => {
  const bad = "echo 3 passed, 2 failed; exit 1";
  deepEqual(runCi(t, { ci: ":", check: good, engines: bad }), { status: 1, lines: ["works", "11 passed, 2 failed"] });
  deepEqual(runCi(t, { ci: ":", check: bad, engines: good }), { status: 1, lines: ["works", "11 passed, 2 failed"] });
});

test("CI fails if a script ends without its totals, or with an exit code that they do not explain", (t) => {
  const told = "npm run engines -- --install ended without its totals";
  deepEqual(runCi(t, { ci: ":", check: good, engines: "echo breaks" }), {
    status: 1,
    lines: ["works", "breaks", told, "8 passed, 1 failed"],
  });
  deepEqual(runCi(t, { ci: ":", check: `${good}; exit 1`, engines: ":" }).lines.at(-1), "8 passed, 2 failed");
  deepEqual(runCi(t, { ci: "exit 1", check: good, engines: good }), {
    status: 1,
    lines: ["npm ci failed", "0 passed, 1 failed"],
  });
});
