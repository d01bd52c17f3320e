import { existsSync, writeFileSync } from "node:fs";
import { at, readJson } from "../../scripts/lib/project.mjs";
import { eachOf, runTests } from "./run-tests.mjs";
import { folderFor } from "./tree.mjs";

const kept = at("build/mutants/killers.json");

/**
 * Looks for a test that fails with each mutant: `{ ...mutant, killer?, reached, ran }`. `reached` and `ran` count
 * files. The files that reach a mutant run in the order of {@link orderOf} until one fails, or until `most` of them
 * ran. A file that also fails without the mutant is ignored. `chosen` are all mutants, of which `mutants` may be some.
 */
export async function hunt(mutants, files, { chosen, workers, most, tell }) {
  const killers = existsSync(kept) ? readJson(kept) : {};
  const results = new Map();
  const folders = new Map(chosen.map(({ id, file }) => [id, folderOf(file)]));
  await eachOf(mutants, workers, async (mutant) => {
    const reaching = files.filter(({ failure, reached }) => failure === undefined && reached.includes(mutant.id));
    const result = await killed(mutant, orderOf(mutant, reaching, killers[mutant.id], folders).slice(0, most));
    if (result.killer !== undefined) killers[mutant.id] = result.killer.file;
    writeFileSync(folderFor(kept), JSON.stringify(killers));
    results.set(mutant.id, { ...mutant, reached: reaching.length, ...result });
    tell(`${results.size} of ${mutants.length} mutants`, results.get(mutant.id));
  });
  return mutants.map(({ id }) => results.get(id));
}

async function killed(mutant, files) {
  let ran = 0;
  for (const { path, name, ms } of files) {
    const timeoutMs = ms * 4 + 10_000;
    const { failure } = await runTests(path, { env: { BOWLINE_MUTANT: mutant.id }, timeoutMs });
    ran += 1;
    if (failure === undefined) continue;
    const without = await runTests(path, { timeoutMs });
    if (without.failure === undefined) return { ran, killer: { file: name, test: failure } };
  }
  return { ran };
}

/**
 * Orders the test files for a mutant: the killer of the previous run first, then quick and near ones. A file is near if
 * much of the code that it reaches is in the mutant's folder, and if its path has words of the mutant's path.
 */
function orderOf({ file }, files, killer, folders) {
  const words = wordsOf(file);
  const cost = ({ name, ms, reached }) => {
    if (name === killer) return 0;
    const shared = wordsOf(name).filter((word) => words.includes(word)).length;
    const inside = reached.filter((other) => folders.get(other) === folderOf(file)).length;
    return ms / (1 + 2 * shared) / (0.05 + inside / reached.length);
  };
  return [...files].sort((a, b) => cost(a) - cost(b));
}

const folderOf = (file) => file.slice(0, file.lastIndexOf("/"));
const common = ["src", "test", "build", "unit", "scenarios", "ts", "js"];
const wordsOf = (path) => path.split(/[^a-z0-9]+/).filter((word) => !common.includes(word));
