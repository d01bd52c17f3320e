import { deepEqual, equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

const root = (path: string) => new URL(`../../../${path}`, import.meta.url);
const one = "echo 1 passed, 0 failed";
const good = "echo works; echo; echo 5 passed, 0 failed";

const parts = {
  ci: ":",
  install: ":",
  test: good,
  check: one,
  engines: one,
  runtimes: one,
  browser: one,
  simulate: one,
};

/** Runs a copy of `.ci/run` with an npm that runs these lines of a shell. Returns the exit code and the output. */
function runCi(t: TestContext, changed: Partial<typeof parts>) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-ci-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const path of [".ci/run", "scripts/failures.mjs", "scripts/lib/exec.mjs", "scripts/lib/project.mjs"]) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    copyFileSync(root(path), join(folder, path));
  }
  const npm = Object.entries({ ...parts, ...changed }).map(([name, lines]) => `*" ${name} "*) ${lines} ;;`);
  writeFileSync(join(folder, "npm"), `#!/bin/sh\ncase " $* " in ${npm.join("\n")} esac\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const { status, stdout } = spawnSync("bash", [join(folder, ".ci/run")], { env, encoding: "utf8" });
  const told = stdout.matchAll(/^=== (\S+) \(\d+ s, \d+ s of CPU\)$/gm);
  const headings = Array.from(told, ([, name]) => name);
  return { status, headings, lines: stdout.split("\n").filter((line) => line !== "" && !line.startsWith("=== ")) };
}

test("CI adds up the tests, the checks, and the suites of engines, runtimes, browser and simulation", (t) => {
  const said = 'echo "$*"; echo 3 passed, 0 failed';
  deepEqual(runCi(t, { install: 'echo "$*"', engines: said, runtimes: said, browser: said, simulate: said }), {
    status: 0,
    headings: ["test", "check", "runtimes", "browser", "engines", "simulate", "simulate-broken"],
    lines: [
      "install",
      "works",
      "run --silent runtimes -- --install chromium",
      "run --silent browser -- --install",
      "run --silent engines -- --install",
      "run --silent simulate",
      "run --silent simulate -- --break all",
      "21 passed, 0 failed",
    ],
  });
});

test("CI tells each part with its time, those that run side by side in one order", (t) => {
  // The first lane waits for the second one, which ends last nevertheless.
  const check = "while [ ! -e simulated ]; do sleep 0.01; done; echo 1 passed, 0 failed";
  const simulate = `touch simulated; ${one}`;
  const { status, headings } = runCi(t, { check, simulate });
  equal(status, 0);
  deepEqual(headings, ["test", "check", "runtimes", "browser", "engines", "simulate", "simulate-broken"]);
});

test("CI runs the test command of the README as it is written there", () => {
  const command = "npm install && npm test";
  ok(readFileSync(root("README.md"), "utf8").includes(`\n${command} `));
  ok(readFileSync(root(".ci/run"), "utf8").includes(`bash -c "${command}"`));
});

test("CI ends with every failure of all parts, in as many lines as the end of a log has", (t) => {
  const failures = (count: number) =>
    Array.from({ length: count }, (_, n) => `echo; echo "FAIL a.test.js: title ${n}"; seq 1 100`).join("; ");
  const runTests = `echo "  FAIL a title of the listing (3 ms)"; ${failures(2)}; echo; echo 5 passed, 2 failed; exit 1`;
  const check = "echo; echo FAIL docs: 1 problem; echo '  docs/a.md:3 is wrong'; echo 9 passed, 1 failed; exit 1";
  const engines = "echo it breaks >&2; exit 3";
  const { status, lines } = runCi(t, { test: runTests, check, engines });
  equal(status, 1);
  equal(lines.at(-1), "18 passed, 4 failed");
  const end = lines.slice(-60);
  const block = end.slice(end.indexOf("4 failures:"));
  deepEqual(
    block.filter((line) => !/^ {2}\d+$/.test(line)),
    [
      "4 failures:",
      "test: a.test.js: title 0",
      "test: a.test.js: title 1",
      "check: docs: 1 problem",
      "    docs/a.md:3 is wrong",
      "engines: end: exit code 3, without totals",
      "  it breaks",
      "The logs are build/ci/test.log, build/ci/check.log, build/ci/engines.log.",
      "18 passed, 4 failed",
    ],
  );
  const many = runCi(t, { test: `${failures(70)}; echo 5 passed, 70 failed; exit 1` }).lines.slice(-60);
  ok(many.includes("70 failures:") && many.includes("test: a.test.js: title 49") && many.includes("and 20 more"));
});

test("CI fails if a part ends without its totals, or with an exit code that they do not explain", (t) => {
  const silent = runCi(t, { engines: "echo breaks" });
  equal(silent.status, 1);
  ok(silent.lines.includes("engines: end: exit code 0, without totals"));
  equal(silent.lines.at(-1), "10 passed, 1 failed");
  const unexplained = runCi(t, { check: `${one}; exit 2` });
  equal(unexplained.status, 1);
  ok(unexplained.lines.includes("check: end: exit code 2, which the totals do not explain"));
  equal(unexplained.lines.at(-1), "11 passed, 1 failed");
  equal(runCi(t, { install: "exit 1" }).lines.at(-1), "6 passed, 1 failed");
  deepEqual(runCi(t, { ci: "exit 1" }), {
    status: 1,
    headings: [],
    lines: ["npm ci failed", "0 passed, 1 failed"],
  });
});

test("each failure of a log is told once, with its message", async () => {
  const { failuresIn, reportOf } = await loadScript<{
    failuresIn(name: string, log: string): readonly (readonly string[])[];
    reportOf(failures: readonly (readonly string[])[]): string;
  }>("scripts/failures.mjs");
  const log = "listing\n  FAIL b (1 ms)\n\nFAIL a.js: b\nError: c\n\n  at d\n\nFAIL seed 4: e\n\n1 passed, 2 failed\n";
  deepEqual(failuresIn("test", log), [["test: a.js: b", "Error: c", "  at d"], ["test: seed 4: e"]]);
  deepEqual(failuresIn("test", "x\ny\n"), [["test: the end of its output:", "x", "y"]]);
  equal(reportOf([["a", "x".repeat(1000)]]).length, "1 failures:\na\n".length + 240);
});
