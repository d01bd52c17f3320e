import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { choosePeers } from "./adapters/peers.mjs";
import { install } from "./install.mjs";
import { endChildren } from "./lib/child.mjs";
import { createProgress } from "./lib/terminal.mjs";
import { describeMachine } from "./machine.mjs";
import { parseOptions } from "./options.mjs";
import { toComparison } from "./report/compare.mjs";
import { writeDocs } from "./report/docs.mjs";
import { toJson } from "./report/json.mjs";
import { toMarkdown } from "./report/markdown.mjs";
import { toSvg } from "./report/svg.mjs";
import { judge, readTargets, toLines } from "./report/targets.mjs";

/**
 * Compares Bowline with its peers and with plain Node, or with another build of itself. `npm run bench -- --help`
 * prints the options.
 */
const options = parseOptions(process.argv.slice(2));

process.on("exit", endChildren);
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
])
  process.on(signal, () => process.exit(code));

if (options.base !== undefined) await endWithComparison();

if (options.peers !== undefined) choosePeers(options.peers);
await install();
const { sections } = await import("./sections.mjs");
const chosen = sections.filter(isChosen);
if (chosen.length === 0) fail(`there is no such section; there are ${sections.map(({ name }) => name).join(", ")}`);

const progress = createProgress(chosen.length);
const run = {
  ...options,
  progress,
  /** Maximum time to wait for a quiet machine, over the whole run. */
  patience: { ms: options.short ? 0 : 60_000 },
  windows: { all: 0, noisy: 0, again: 0 },
  remark: (text) => results.remarks.push({ section: progress.current(), text }),
};
const results = { remarks: [], failures: [] };
const machine = await describeMachine();
const begun = performance.now();
let document;
for (const { name, at, measure } of chosen) {
  progress.section(name);
  try {
    put(results, at, await measure(run));
  } catch (error) {
    results.failures.push({ section: name, error: error.message });
    progress.say(`${name} failed: ${error.stack}`);
  }
  document = { run: describeRun(), targets: judge(readTargets(), results), ...results };
  save(); // an interrupted run keeps its results so far
}
progress.say(`${document.run.seconds} s; results.json, results.md and results.svg are in ${options.out}`);
if (run.windows.noisy > run.windows.all / 5) {
  progress.say(
    `other programs took part of the machine in ${run.windows.noisy} of ${run.windows.all} windows: the ratios are rough`,
  );
}
if (options.docs) writeDocs(document);
const told = options.json ? toJson(document) : toLines(document.targets).join("\n");
process.stdout.write(`${told}\n`, () => process.exit(results.failures.length === 0 ? 0 : 1));

/** Compares two builds of Bowline and does nothing else. The peers are not needed, so they are not installed. */
async function endWithComparison() {
  try {
    const { compare } = await import("./compare.mjs");
    const document = await compare(options);
    const told = options.json ? toJson(document) : toComparison(document);
    await new Promise((resolve) => process.stdout.write(`${told}\n`, resolve));
  } catch (error) {
    fail(process.env.BENCH_DEBUG ? error.stack : error.message);
  }
  process.exit(0);
}

function isChosen({ name, long, aside }) {
  if (options.only.length > 0) return options.only.some((word) => name.startsWith(word));
  return !(options.narrow && aside) && !(options.short && long);
}

function put(tree, path, value) {
  const last = path.at(-1);
  const branch = path.slice(0, -1).reduce((node, key) => (node[key] ??= {}), tree);
  branch[last] = value;
}

function describeRun() {
  return {
    ...machine,
    short: options.short,
    rounds: options.rounds,
    windowMs: options.windowMs,
    seconds: Math.round((performance.now() - begun) / 1000),
    windows: run.windows,
  };
}

function save() {
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, "results.json"), `${toJson(document)}\n`);
  writeFileSync(join(options.out, "results.md"), toMarkdown(document));
  writeFileSync(join(options.out, "results.svg"), toSvg(document));
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
