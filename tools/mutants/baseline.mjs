import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lines } from "../../scripts/lib/exec.mjs";
import { at, readJson } from "../../scripts/lib/project.mjs";
import { eachOf, runTests } from "./run-tests.mjs";
import { folderFor } from "./tree.mjs";

const kept = at("build/mutants/baseline.json");
const timeoutMs = 300_000;

/**
 * Runs every test file without a mutant: `{ path, name, ms, reached, failure? }`. `reached` has the ids of the mutants
 * whose code it runs. Results of files with an unchanged digest are reused.
 */
export async function baseline(files, { workers, tell }) {
  const known = existsSync(kept) ? readJson(kept) : {};
  const results = {};
  let done = 0;
  await eachOf(files, workers, async ({ path, name, digest }) => {
    if (known[name]?.digest === digest) results[name] = known[name];
    else results[name] = { digest, ...(await measured(path, name)) };
    done += 1;
    tell(`${done} of ${files.length} test files without a mutant`);
  });
  writeFileSync(folderFor(kept), JSON.stringify(results));
  return files.map(({ path, name }) => ({ path, name, ...results[name] }));
}

async function measured(path, name) {
  const folder = at("build/mutants/reached", name.replaceAll("/", "-"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const run = () => runTests(path, { env: { BOWLINE_REACHED: folder }, timeoutMs });
  let { ms, failure } = await run();
  if (failure !== undefined) ({ ms, failure } = await run());
  const ids = readdirSync(folder).flatMap((file) => lines(readFileSync(join(folder, file), "utf8")));
  return { ms, reached: [...new Set(ids)], ...(failure === undefined ? {} : { failure }) };
}
