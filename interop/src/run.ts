import { readFileSync } from "node:fs";
import { type EngineName, endEngines, prepareBalancing } from "./balancing.js";
import { type PeerName, programOf } from "./fetched.js";
import { inspectors } from "./inspector.js";
import { judge, type Known } from "./known.js";
import { nameOf, type Pair, pairs } from "./matrix.js";
import { type Neighbour, neighbours } from "./neighbours.js";
import { balanced } from "./nginx.js";
import { isPeer, peerOf } from "./peers.js";
import { published } from "./published.js";
import { type Outcome, runPair } from "./run-pair.js";
import { skillInspectors } from "./skills/inspector.js";
import { skillLines } from "./skills/lines.js";
import { formatTable } from "./table.js";
import { taskLines } from "./tasks/lines.js";

/**
 * Runs Bowline with other SDKs, each as client and as server, with published programs and with gateways:
 * `node run.js [filter ...] [--json]`. A filter is a part of `client -> server mode era`. Peers that are not in the lockfile
 * are fetched or built once into a cache; a peer that is not available is reported and is no failure. known.json lists the
 * checks that fail because of the peer, with the reason.
 */
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = process.argv.includes("--json") || process.env.npm_config_json === "true";
const known = JSON.parse(readFileSync(new URL("../../known.json", import.meta.url), "utf8")) as readonly Known[];

const lines: readonly Neighbour[] = [
  ...pairs.map(lineOf),
  ...neighbours,
  ...published,
  ...inspectors,
  balanced,
  ...skillLines,
  ...skillInspectors,
  ...taskLines,
];
const chosen = lines.filter(({ pair }) => filters.length === 0 || filters.some((filter) => pair.includes(filter)));
/** Reasons why peers are not available. */
const missing = new Set<string>();
const begun = performance.now();
const outcomes = await runAll().finally(endEngines);
const verdict = judge(outcomes, known, filters.length === 0 && missing.size === 0);
const seconds = Math.round((performance.now() - begun) / 100) / 10;
report();

function lineOf(pair: Pair): Neighbour {
  const line = { pair: nameOf(pair), run: () => runPair(pair) };
  const peer = [pair.client, pair.server].find(isPeer);
  const [gateway, engine] = pair.mode.split(":");
  if (gateway === "nginx") {
    const needs = async () => {
      await prepareBalancing(engine as EngineName);
      if (peer !== undefined) await peerOf(peer);
    };
    return { ...line, needs };
  }
  if (peer !== undefined) return { ...line, needs: () => peerOf(peer) };
  return pair.isGateway ? { ...line, needs: () => programOf(pair.mode.split(":")[0] as PeerName) } : line;
}

/** Runs two lines at a time: starting processes takes most of the time. Builds come first, since they slow the checks. */
async function runAll(): Promise<Outcome[]> {
  await Promise.allSettled(chosen.map(({ needs }) => needs?.()));
  const queue = chosen.map((line, index) => ({ line, index }));
  const found: Outcome[][] = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      if (await canRun(next.line)) found[next.index] = await next.line.run();
    }
  };
  await Promise.all([work(), work()]);
  return found.flat();
}

async function canRun({ needs }: Neighbour): Promise<boolean> {
  try {
    await needs?.();
    return true;
  } catch (error) {
    missing.add((error as Error).message);
    return false;
  }
}

function report(): void {
  const { totals, failures, stale, differences } = verdict;
  process.exitCode = failures.length + stale.length === 0 && outcomes.length + missing.size > 0 ? 0 : 1;
  if (json) {
    const ok = process.exitCode === 0;
    console.log(
      JSON.stringify({ ok, seconds, totals, failures, stale, differences, missing: [...missing], outcomes }, null, 2),
    );
    return;
  }
  console.log(formatTable(outcomes, differences));
  const notes = differences.map(({ entry, check, reason }) => `known: ${entry}: ${check}: ${reason}`);
  for (const note of new Set(notes)) console.log(note);
  for (const { pair, check, problem } of failures) console.log(`FAIL ${pair}: ${check}: ${problem}`);
  for (const { pair, check } of stale) console.log(`FAIL known.json: ${pair}: ${check} does not fail any more`);
  for (const reason of missing) console.log(`${reason}, peer left out`);
  const { passed, known: expected, failed } = totals;
  console.log(`\n${passed} passed, ${expected} known differences, ${failed} failed, in ${seconds} s`);
}
