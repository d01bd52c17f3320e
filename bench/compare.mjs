import { stagePackage } from "../scripts/package.mjs";
import { basePackage, commitOf, makeHostFolders, workingTree } from "./lib/builds.mjs";
import { groupedMedian, median, pairedDifferences, verdictOn } from "./lib/stats.mjs";
import { createProgress } from "./lib/terminal.mjs";
import { measurePairs } from "./measure/pairs.mjs";
import { wires } from "./workload/wires.mjs";

/** Accepted difference: 3 % more CPU time per call. */
const accepted = 0.03;

/** The newest engines have compiled code for good after 20,000 runs. */
const form = { pairsPerStart: 8, windowMs: 200, warmUp: { calls: 20_000, ms: 1000 } };

/**
 * Compares the build of the working tree with the build of `options.base`, wire by wire, without peers. Returns the
 * document: the two builds, and per wire the CPU time per call of each and their difference.
 */
export async function compare(options) {
  const chosen = chooseWires(options.only);
  const base = await commitOf(options.base);
  const current = await workingTree();
  const progress = createProgress(chosen.length);
  progress.say(`building ${options.base} (once per commit)`);
  const folders = makeHostFolders({ old: await basePackage(base), new: await stagePackage() });
  const run = { ...form, pairs: options.pairs, progress };
  const begun = performance.now();
  const results = {};
  for (const wire of chosen) {
    progress.section(wire);
    results[wire] = summarize(await measurePairs(run, wire, folders));
  }
  const seconds = Math.round((performance.now() - begun) / 1000);
  progress.say(`${seconds} s`);
  return {
    old: { ref: options.base, commit: base },
    new: current,
    run: { node: process.version, pairs: options.pairs, ...form, seconds },
    wires: results,
  };
}

function chooseWires(only) {
  const names = Object.keys(wires);
  const chosen = names.filter((name) => only.length === 0 || only.some((word) => name.startsWith(word)));
  if (chosen.length === 0) throw new Error(`there is no such wire; there are ${names.join(", ")}`);
  return chosen;
}

/** Returns the figures of a wire and the pairs that they are computed from. */
export function summarize(groups) {
  const differences = groups.map((group) => pairedDifferences(group.map((pair) => [pair.old, pair.new])));
  const difference = groupedMedian(differences);
  return {
    oldUs: median(groups.flat().map((pair) => pair.old)),
    newUs: median(groups.flat().map((pair) => pair.new)),
    difference,
    verdict: verdictOn(difference, accepted),
    groups,
  };
}
