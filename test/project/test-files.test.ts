import { deepEqual, match } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Outcome {
  readonly file: string;
  readonly tests: readonly { readonly title: string; readonly error?: string }[];
}

const { runTestFiles } = await loadScript<{
  runTestFiles(
    runs: readonly { readonly path: string; readonly where?: string }[],
    options: { readonly atOnce: number; readonly patterns?: readonly string[]; readonly limitMs?: number },
    onResult: (outcome: Outcome) => void,
  ): Promise<void>;
}>("scripts/lib/test-files.mjs");

/** Runs a file of tests with this code, and returns the titles with the first line of each error. */
async function told(t: TestContext, code: string, options: object = {}): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-test-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a.mjs");
  writeFileSync(path, `import { test } from "node:test";\n${code}`);
  const outcomes: Outcome[] = [];
  await runTestFiles([{ path }], { atOnce: 2, ...options }, (outcome) => outcomes.push(outcome));
  return outcomes.flatMap(({ tests }) =>
    tests.map(({ title, error }) => (error === undefined ? title : `${title}: ${error.split("\n")[0]}`)),
  );
}

test("tests are told with their errors, and parents of failures only once", async (t) => {
  const code = `test("holds", () => {});
    test("parent", (t) => t.test("fails", () => { throw new Error("no"); }));`;
  deepEqual(await told(t, code), ["holds", "fails: Error: no"]);
});

test("a test that is skipped or to do fails, unless titles choose others", async (t) => {
  const code = 'test.skip("one", () => {});\ntest.todo("two");\ntest("three", () => {});\n';
  const problem = "a test may be neither skipped nor to do";
  deepEqual(await told(t, code), [`one: ${problem}`, `two: ${problem}`, "three"]);
  deepEqual(await told(t, code, { patterns: ["thr"] }), ["three"]);
});

test("a file that fails outside of its tests, does not end or has no tests is a failure", async (t) => {
  const [, outside] = await told(t, 'test("a", () => {});\nprocess.on("exit", () => process.exit(7));\n');
  match(outside ?? "", /^outside of its tests: exit code 7$/);
  const [hangs] = await told(t, 'test("a", () => new Promise(() => setInterval(() => {}, 1000)));\n', {
    limitMs: 1_000,
  });
  match(hangs ?? "", /killed after 1000 ms|outside of its tests|^a: /);
  deepEqual(await told(t, ""), ["has no tests: a test file registers tests"]);
  deepEqual(await told(t, "", { patterns: ["x"] }), []);
});

test("each file is run, and named with the text behind it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-test-files-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const runs = ["a", "b", "c"].map((name) => ({ path: join(folder, `${name}.mjs`), where: ` (${name})` }));
  for (const { path } of runs) writeFileSync(path, 'import { test } from "node:test";\ntest("runs", () => {});\n');
  const files: string[] = [];
  await runTestFiles(runs, { atOnce: 2 }, ({ file, tests }) => files.push(`${file.slice(-9)} ${tests.length}`));
  deepEqual(files.sort(), ["a.mjs (a) 1", "b.mjs (b) 1", "c.mjs (c) 1"]);
});
