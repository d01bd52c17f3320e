import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { run } from "node:test";
import { at, filesBelow, shown, wantsJson } from "./lib/project.mjs";

/**
 * Runs the built tests: `node scripts/test.mjs [filter ...] [--json]`. A filter is a part of a file's path, or, when no
 * file has it, a part of tests' titles. A run without filters is a full run: it replaces the proofs in build/proofs,
 * which the requirements gate reads; a filtered run leaves them alone.
 */
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = wantsJson();
const full = filters.length === 0;
const say = (text) => json || console.log(text);

const all = [at("build/test"), at("interop/dist")].flatMap((folder) => filesBelow(folder, ".test.js"));
const byPath = all.filter((file) => filters.some((filter) => shown(file).includes(filter)));
const files = byPath.length > 0 ? byPath : all;
const patterns = full || byPath.length > 0 ? undefined : filters.map((filter) => new RegExp(escaped(filter)));

const proofs = at("build/proofs");
if (full) {
  rmSync(proofs, { recursive: true, force: true });
  mkdirSync(proofs, { recursive: true });
  process.env.BOWLINE_PROOFS = proofs;
}

const outcome = await runTests();
const totals = { passed: outcome.passed, failed: outcome.failures.length };
if (full) writeFileSync(at("build/proofs/run.json"), JSON.stringify({ ...totals, files: files.length }));
report();

async function runTests() {
  const failures = [];
  let passed = 0;
  let file;
  if (files.length === 0)
    failures.push({ file: "build/test", title: "no test files", message: "build first: npm test" });
  else {
    const options = { files, concurrency: 2, timeout: 120_000, ...(patterns ? { testNamePatterns: patterns } : {}) };
    for await (const { type, data } of run(options)) {
      if (type === "test:stderr" || type === "test:stdout") process.stderr.write(data.message);
      if (type === "test:diagnostic" && /^(Error|Warning):/.test(data.message))
        process.stderr.write(`${data.message}\n`);
      if (type !== "test:pass" && type !== "test:fail") continue;
      if (data.details?.type === "suite" || isFile(data)) {
        if (type === "test:fail" && isFile(data)) failures.push(failure(data));
        continue;
      }
      if (patterns !== undefined && (data.skip !== undefined || !patterns.some((pattern) => pattern.test(data.name)))) {
        if (type === "test:pass") continue;
      }
      if (data.file !== file) say(`\n${heading(data.file)}`);
      file = data.file;
      const problem = problemOf(type, data);
      say(`${"  ".repeat(data.nesting + 1)}${problem === undefined ? "ok  " : "FAIL"} ${data.name} (${ms(data)} ms)`);
      if (problem === undefined) passed += 1;
      else failures.push(problem);
    }
  }
  if (passed === 0 && failures.length === 0)
    failures.push({ file: "", title: filters.join(" "), message: "no such test" });
  return { passed, failures };
}

/** A file stands for its tests; it is reported itself only when it fails outside of them. */
function isFile(data) {
  return data.name === data.file || all.some((path) => path === data.name || shown(path) === data.name);
}

/** A test registered by a helper is located in the helper; its title says what it is about. */
function heading(file) {
  return all.includes(file) ? shown(file) : "scenarios";
}

function problemOf(type, data) {
  if (type === "test:fail") return failure(data);
  if (data.skip !== undefined || data.todo !== undefined) {
    return { file: shown(data.file ?? ""), title: data.name, message: "a test may be neither skipped nor to do" };
  }
  return undefined;
}

function failure(data) {
  const error = data.details?.error;
  const cause = error?.cause ?? error;
  const message = typeof cause === "string" ? cause : (cause?.stack ?? cause?.message ?? String(error));
  const title = isFile(data) ? "failed outside of its tests; see what it wrote above" : data.name;
  return { file: data.file === undefined ? "" : shown(data.file), title, message };
}

function ms(data) {
  return Math.round(data.details?.duration_ms ?? 0);
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function report() {
  process.exitCode = outcome.failures.length === 0 ? 0 : 1;
  if (json) return console.log(JSON.stringify({ ...totals, full, failures: outcome.failures }, null, 2));
  for (const { file, title, message } of outcome.failures) console.log(`\nFAIL ${file}: ${title}\n${message}`);
  console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
}
