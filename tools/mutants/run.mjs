import { existsSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { at, readJson, wantsJson } from "../../scripts/lib/project.mjs";
import { baseline } from "./baseline.mjs";
import { chooseMutants, layers } from "./choose.mjs";
import { hunt } from "./hunt.mjs";
import { judged, ledgerOf, told } from "./report.mjs";
import { allMutants, makeTree, testFiles } from "./tree.mjs";

/**
 * Measures the tests with mutants, which are small faults in the built code: `node tools/mutants/run.mjs [--layer
 * <layer>] [--only <id>] [--sample <n>] [--seed <seed>] [--workers <n>] [--files <n>] [--update] [--json]`. All mutants
 * are written into one copy of the build, build/mutants/tree; BOWLINE_MUTANT turns one on. Tests first run without a
 * mutant, to record which files reach which mutants. Only these files run on a mutant, until one fails.
 *
 * tools/mutants/survivors.json has the seed and the survivors. A survivor that changes no behaviour has a `reason`. The
 * command fails if a layer is below the bound in that file, or if a mutant survives that it does not list. `--update`
 * rewrites the list for the layers that ran. `--sample` takes the first mutants of each layer. `--seed` chooses other
 * mutants and never fails.
 */
const { values } = parseArgs({
  options: {
    layer: { type: "string", multiple: true, default: [] },
    only: { type: "string", multiple: true, default: [] },
    sample: { type: "string" },
    seed: { type: "string" },
    workers: { type: "string", default: "2" },
    files: { type: "string", default: "60" },
    update: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const json = wantsJson();
const ledgerFile = at("tools/mutants/survivors.json");
const ledger = readJson(ledgerFile);
for (const layer of values.layer) {
  if (!layers.some(([name]) => name === layer)) {
    throw new Error(`unknown layer ${layer}; the layers are ${layers.map(([name]) => name).join(", ")}`);
  }
}
if (!existsSync(at("build/test"))) throw new Error("build/test is missing; build with npx tsc -b");

const chosen = makeTree(
  chooseMutants(allMutants(), { seed: values.seed ?? ledger.seed, count: ledger.mutantsPerLayer }),
);
const taken = chosen
  .filter(({ layer }) => values.layer.length === 0 || values.layer.includes(layer))
  .filter(({ id }) => values.only.length === 0 || values.only.includes(id))
  .filter(({ layer, id }) => {
    const own = chosen.filter((mutant) => mutant.layer === layer);
    return values.sample === undefined || own.findIndex((mutant) => mutant.id === id) < Number(values.sample);
  });

const workers = Number(values.workers);
const files = await baseline(testFiles(chosen), { workers, tell: progress });
const left = files.filter(({ failure }) => failure !== undefined);
for (const { name, failure } of left) console.error(`${name} fails without a mutant and is left out: ${failure}`);
const results = await hunt(taken, files, { chosen, workers, most: Number(values.files), tell: progress });

const verdict = judged(results, ledger);
if (json) console.log(JSON.stringify({ ...verdict, results }, null, 2));
else console.log(told(verdict));
if (values.update && values.seed === undefined) {
  writeFileSync(ledgerFile, `${JSON.stringify(ledgerOf(results, ledger, chosen), null, 2)}\n`);
}
process.exitCode = verdict.problems.length === 0 || values.seed !== undefined ? 0 : 1;

function progress(text, result) {
  if (result !== undefined && result.killer === undefined && !json) {
    console.error(`survives: ${result.id} ${result.file}:${result.line} ${result.operator}`);
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${text} `);
}
