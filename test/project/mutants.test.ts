import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Verdict {
  readonly rates: readonly { readonly layer: string; readonly rate: number; readonly equivalent: number }[];
  readonly gone: readonly string[];
  readonly problems: readonly string[];
}

const { findMutants } = await loadScript<{ findMutants(file: string, code: string): Mutant[] }>(
  "tools/mutants/find.mjs",
);
const { chooseMutants } = await loadScript<{
  chooseMutants(all: readonly object[], options: { seed: string; count: number }): (Mutant & { layer: string })[];
}>("tools/mutants/choose.mjs");
const { instrument, switchFile, switchModule } = await loadScript<{
  instrument(code: string, mutants: readonly Mutant[], depth: number): string;
  switchFile: string;
  switchModule: string;
}>("tools/mutants/instrument.mjs");
const { judged, ledgerOf } = await loadScript<{
  judged(results: readonly object[], ledger: object): Verdict;
  ledgerOf(
    results: readonly object[],
    ledger: object,
    chosen: readonly object[],
  ): { survivors: { id: string; reason?: string }[] };
}>("tools/mutants/report.mjs");

const changes = (code: string) =>
  findMutants("a.js", code).map(
    ({ operator, start, end, text }) => `${operator}: ${code.slice(start, end)} -> ${text.replace(/\s+/g, " ")}`,
  );

test("each operator changes what it is for", () => {
  const has = (code: string, ...expected: string[]) => {
    for (const change of expected) ok(changes(code).includes(change), `${code}: ${changes(code).join("; ")}`);
  };
  has("if (a) b();", "negate: a -> !(a)", "drop: b(); -> ");
  has("x = a < 1;", "boundary: a < 1 -> (a) <= (1)", "constant: 1 -> 2");
  has("x = a === b;", "negate: a === b -> (a) !== (b)");
  has("x = a && b;", "logic: a && b -> (a) || (b)");
  has("x = a ?? b;", "default: a ?? b -> a");
  has("function f() { return a; }", "return: a -> undefined");
  has("async function f() { await a; }", "await: await a -> a");
  has("x = [a, b];", "element: [a, b] -> [b]", "element: [a, b] -> [a]");
  has("f(a, b);", "argument: f(a, b) -> f(a)");
  has("x = a - b;", "arithmetic: a - b -> (a) + (b)");
});

test("what would be a loop without end, or no change of behaviour, is left alone", () => {
  const steps = changes("for (let i = 0; i < n; i += 1) f(i);");
  ok(!steps.some((change) => change.startsWith("arithmetic")), steps.join("; "));
  deepEqual(
    changes("x = 60_000;").filter((change) => change.startsWith("constant")),
    [],
  );
});

test("an id stays when comments, texts and other lines change, and tells equal places apart", () => {
  const ids = (code: string) => findMutants("a.js", code).map(({ id }) => id);
  const before = ids('function f() { if (a) throw new Error("no"); }');
  deepEqual(ids('function f() {\n  // A reason.\n  if (a) throw new Error("another");\n}'), before);
  const twice = ids("function f() { if (a) b(); if (a) b(); }");
  equal(new Set(twice).size, twice.length);
  notEqual(ids("function g() { if (a) b(); }")[0], twice[0]);
});

/** Runs code with all of its mutants in it, and one of them on: what it wrote, and the mutants that it reached. */
function ran(t: TestContext, code: string, on: string | undefined) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-mutants-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, switchFile), switchModule);
  writeFileSync(join(folder, "a.js"), instrument(code, findMutants("a.js", code), 0));
  const reached = mkdtempSync(join(folder, "reached-"));
  const env = { ...process.env, BOWLINE_REACHED: reached, ...(on === undefined ? {} : { BOWLINE_MUTANT: on }) };
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, "a.js")], { env, encoding: "utf8" });
  equal(stderr, "");
  const ids = readdirSync(reached).flatMap((name) => readFileSync(join(reached, name), "utf8").trim().split("\n"));
  return { stdout: stdout.trim(), reached: ids };
}

test("one file holds all mutants, inside each other too, and one of them is on", (t) => {
  const code = "const f = (a, b) => a > 1 && b < 2;\nconsole.log(f(2, 1), f(1, 1), f(2, 2));\n";
  const mutants = findMutants("a.js", code);
  const idOf = (operator: string, from: string) =>
    mutants.find((mutant) => mutant.operator === operator && code.slice(mutant.start, mutant.end) === from)?.id;
  equal(ran(t, code, undefined).stdout, "true false false");
  equal(ran(t, code, idOf("logic", "a > 1 && b < 2")).stdout, "true true true");
  equal(ran(t, code, idOf("boundary", "b < 2")).stdout, "true false true");
  equal(ran(t, code, idOf("boundary", "a > 1")).stdout, "true true false");
  equal(ran(t, code, idOf("argument", "f(2, 1)")).stdout, "false false false");
});

test("a mutant is reached where its code runs, and a child with an environment of its own has it on too", (t) => {
  const code = [
    'const { spawn } = process.getBuiltinModule("node:child_process");',
    "const never = () => [1];",
    'if (process.argv[2] === "child") console.log(1 < 1);',
    'else spawn(process.execPath, [process.argv[1], "child"], { env: {}, stdio: "inherit" });',
  ].join("\n");
  const mutants = findMutants("a.js", code);
  const inside = mutants.find(({ operator }) => operator === "boundary");
  const unused = mutants.find(({ start, end }) => code.slice(start, end) === "[1]");
  const { stdout, reached } = ran(t, code, inside?.id);
  equal(stdout, "true");
  ok(reached.includes(inside?.id ?? ""));
  ok(!reached.includes(unused?.id ?? ""));
});

test("the choice takes so many of each layer, all operators in turn, and changes only where the code does", () => {
  const made = (file: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: `${file}${n}`,
      file,
      operator: ["negate", "drop", "await"][n % 3],
    }));
  const all = [...made("call/a.js", 60), ...made("otel/b.js", 5)];
  const chosen = chooseMutants(all, { seed: "s", count: 10 });
  equal(chosen.filter(({ layer }) => layer === "call").length, 10);
  equal(chosen.filter(({ layer }) => layer === "otel").length, 5);
  equal(new Set(chosen.map(({ operator }) => operator)).size, 3);
  const ids = (mutants: readonly { id: string }[]) => mutants.map(({ id }) => id);
  deepEqual(ids(chooseMutants([...all].reverse(), { seed: "s", count: 10 })), ids(chosen));
  notEqual(ids(chooseMutants(all, { seed: "t", count: 10 })).join(), ids(chosen).join());
  const kept = chooseMutants([...all, ...made("call/new.js", 3)], { seed: "s", count: 10 });
  ok(kept.filter(({ id }) => ids(chosen).includes(id)).length >= 12);
});

const result = (id: string, killer?: object) => ({
  id,
  layer: "call",
  file: "src/call/a.ts",
  line: 1,
  operator: "drop",
  from: "a();",
  text: "",
  kind: "statement",
  reached: 2,
  ran: 2,
  ...(killer === undefined ? {} : { killer }),
});

test("a layer below the bound, and a survivor that is not listed, are problems; a survivor with a reason does not count", () => {
  const killed = Array.from({ length: 9 }, (_, n) => result(`k${n}`, { file: "x", test: "y" }));
  const ledger = { bound: 0.9, survivors: [{ id: "known" }, { id: "same", reason: "no change" }, { id: "k0" }] };
  const good = judged([...killed, result("known"), result("same")], ledger);
  deepEqual(good.problems, []);
  deepEqual([good.rates[0]?.rate, good.rates[0]?.equivalent], [0.9, 1]);
  deepEqual(good.gone, ["k0"]);
  const bad = judged([...killed, result("known"), result("fresh")], ledger);
  equal(bad.problems.length, 2);
  match(bad.problems[0] ?? "", /^call: 81 %/);
  match(bad.problems[1] ?? "", /^fresh src\/call\/a\.ts:1 drop: a\(\); -> left out survives/);
});

test("the list keeps reasons and what did not run, and loses the killed and what is chosen no more", () => {
  const ids = ["same", "killed", "elsewhere", "no-more"];
  const ledger = { survivors: ids.map((id) => ({ id, file: "z", ...(id === "same" ? { reason: "no change" } : {}) })) };
  const results = [result("same"), result("killed", {}), result("fresh")];
  const { survivors } = ledgerOf(results, ledger, [...results, { id: "elsewhere" }]);
  deepEqual(
    survivors.map(({ id, reason }) => [id, reason]),
    [
      ["fresh", undefined],
      ["same", "no change"],
      ["elsewhere", undefined],
    ],
  );
});
