import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { entriesWithCases } from "./lib/cases.mjs";
import {
  isWire,
  missingWires,
  provedWires,
  readCatalogue,
  readNotApplicable,
  readPending,
  readProofs,
  refusalOf,
} from "./lib/catalogue.mjs";
import { readRun } from "./lib/full-run.mjs";
import { importsOf } from "./lib/imports.mjs";
import { at, filesBelow, shown, wantsJson } from "./lib/project.mjs";

/**
 * Compares the requirement catalogue with the proofs of the last full test run. `--json` prints everything as JSON.
 * `--update-pending` rewrites requirements/pending.yaml with all ids that are not proved. `--cases [part of ids]`
 * prints the cases of each `check` beside the tests that prove it.
 */
export const requirements = {
  name: "requirements",
  async run() {
    const { problems, totals } = account();
    const { proved, pending, notApplicable, all } = totals.all;
    const isOld = (await readRun())?.isCurrent === false;
    const warnings = isOld ? ["the proofs are of an earlier state of the files; npm test renews them"] : [];
    return {
      problems,
      warnings,
      note: `${all}: ${proved} proved, ${pending} pending, ${notApplicable} not applicable`,
    };
  },
};

/** Returns the state of each requirement, and all problems. */
export function account() {
  const catalogue = readCatalogue();
  const problems = [];
  const proofs = readProofs();
  if (proofs === undefined) problems.push("build/proofs holds no full test run; npm test makes one");
  const evidence = gather(proofs ?? [], catalogue, problems);
  const pending = index(readPending(), "requirements/pending.yaml", catalogue, problems);
  const excluded = index(readNotApplicable(), "requirements/not-applicable.yaml", catalogue, problems);
  for (const { id, reason } of excluded.values()) {
    if (typeof reason !== "string" || reason.trim() === "") problems.push(`${id}: not applicable without a reason`);
  }
  const states = [...catalogue.values()].map((entry) => state(entry, evidence, pending, excluded, problems));
  problems.push(...withoutIds());
  return { problems, states, totals: totalsOf(states), hasRun: proofs !== undefined };
}

/** Returns the wires on which each requirement is proved. A requirement with a failed test has none. */
function gather(proofs, catalogue, problems) {
  const wires = new Map();
  const failed = new Set();
  const refused = new Set();
  for (const proof of proofs) {
    const { id, wire, test, passed } = proof;
    if (!catalogue.has(id)) problems.push(`${test}: ${id} is not in the catalogue`);
    if (!isWire(wire)) problems.push(`${test}: ${wire} is not a wire`);
    if (!passed) failed.add(id);
    else for (const one of provedWires(proof)) wires.set(id, (wires.get(id) ?? new Set()).add(one));
    refused.add(refusalOf(proof));
  }
  problems.push(...[...refused].filter((refusal) => refusal !== undefined));
  for (const id of failed) wires.delete(id);
  return wires;
}

function index(list, file, catalogue, problems) {
  const found = new Map();
  for (const entry of list) {
    if (!catalogue.has(entry.id)) problems.push(`${file}: ${entry.id} is not in the catalogue`);
    if (found.has(entry.id)) problems.push(`${file}: ${entry.id} is listed twice`);
    found.set(entry.id, entry);
  }
  return found;
}

function state(entry, evidence, pending, excluded, problems) {
  const { id, file, level } = entry;
  const wires = evidence.get(id);
  const missing = wires === undefined ? [] : missingWires(entry, [...wires]);
  const isProved = wires !== undefined && missing.length === 0;
  const isPending = pending.has(id);
  const reason = excluded.get(id)?.reason;
  const base = { id, file, level, wires: [...(wires ?? [])].filter((wire) => wire !== undefined).sort() };
  if (reason !== undefined) {
    if (isPending) problems.push(`${id}: both pending and not applicable`);
    if (wires !== undefined) problems.push(`${id}: both proved and not applicable`);
    return { ...base, state: "notApplicable", reason };
  }
  if (isProved && isPending) problems.push(`${id}: both proved and pending; npm run requirements -- --update-pending`);
  if (isProved) return { ...base, state: "proved" };
  if (!isPending && missing.length > 0) problems.push(`${id}: proved, but not on ${missing.join(", ")}`);
  else if (!isPending) problems.push(`${id}: neither proved nor pending nor not applicable`);
  return { ...base, state: "pending", area: pending.get(id)?.area ?? file, missing };
}

/** Finds scenario files that import node:test. They must use `verifies` and `proves`, which take ids. */
function withoutIds() {
  return filesBelow(at("test/scenarios"), ".test.ts")
    .filter((file) =>
      importsOf(readFileSync(file, "utf8")).some(({ specifier, kind }) => specifier === "node:test" && kind !== "type"),
    )
    .map((file) => `${shown(file)}: a scenario test without a requirement id (it imports node:test)`);
}

function totalsOf(states) {
  const empty = () => ({ all: 0, proved: 0, pending: 0, notApplicable: 0 });
  const totals = { all: empty(), byFile: {}, byLevel: {} };
  for (const { file, level, state } of states) {
    totals.byFile[file] ??= { ...empty(), byLevel: {} };
    totals.byFile[file].byLevel[level] ??= empty();
    totals.byLevel[level] ??= empty();
    for (const count of [totals.all, totals.byFile[file], totals.byFile[file].byLevel[level], totals.byLevel[level]]) {
      count.all += 1;
      count[state] += 1;
    }
  }
  return totals;
}

function updatePending({ states }) {
  const areas = {};
  for (const { id, state, area } of states) {
    if (state === "pending") areas[area] = [...(areas[area] ?? []), id];
  }
  const sorted = Object.fromEntries(Object.entries(areas).sort(([a], [b]) => (a < b ? -1 : 1)));
  const head =
    "# What no test proves yet, by the area that owns it. Rewritten by npm run requirements -- --update-pending.\n";
  writeFileSync(at("requirements/pending.yaml"), head + stringify(sorted, { lineWidth: 0 }));
}

function toJson({ problems, states, totals }) {
  const of = (name, pick) => states.filter(({ state }) => state === name).map(pick);
  return {
    ok: problems.length === 0,
    totals,
    proved: of("proved", ({ id, wires }) => ({ id, wires })),
    pending: of("pending", ({ id, area, wires, missing }) => ({ id, area, wires, missing })),
    notApplicable: of("notApplicable", ({ id, reason }) => ({ id, reason })),
    problems,
  };
}

function printCases(filter) {
  const entries = entriesWithCases(readCatalogue(), readProofs() ?? [], filter);
  for (const { id, level, cases, tests } of entries) {
    console.log(`\n${id} (${level})`);
    for (const text of cases) console.log(`  - ${text}`);
    for (const test of tests) console.log(`  = ${test}`);
  }
  console.log(`\n${entries.length} entries with two cases or more`);
}

function print({ problems, totals }) {
  const row = (name, { all, proved, pending, notApplicable }) =>
    console.log(
      `${name.padEnd(24)}${[all, proved, pending, notApplicable].map((n) => String(n).padStart(10)).join("")}`,
    );
  console.log(`${"".padEnd(24)}${["all", "proved", "pending", "n/a"].map((text) => text.padStart(10)).join("")}`);
  for (const [file, counts] of Object.entries(totals.byFile)) {
    row(file, counts);
    for (const [level, part] of Object.entries(counts.byLevel)) row(`  ${level}`, part);
  }
  row("total", totals.all);
  for (const problem of problems) console.log(`FAIL ${problem}`);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--update-pending")) {
    if (!existsSync(at("build/proofs/run.json"))) throw new Error("no full test run to go by; npm test makes one");
    updatePending(account());
  }
  const cases = process.argv.indexOf("--cases");
  const result = account();
  process.exitCode = result.problems.length === 0 ? 0 : 1;
  if (cases > 0) printCases(process.argv[cases + 1]);
  else if (wantsJson()) console.log(JSON.stringify(toJson(result), null, 2));
  else print(result);
}
