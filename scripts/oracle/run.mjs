import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { at, wantsJson } from "../lib/project.mjs";
import { buildBase } from "./base-build.mjs";
import { countCorpus, createCorpus } from "./corpus/corpus.mjs";
import { diffTranscripts } from "./diff.mjs";
import { transcribe } from "./transcripts.mjs";

const HELP = `Plays one corpus against two builds and compares everything that clients and servers can see.

npm run oracle -- --base <ref>      git ref of the build to compare with (main)
  --base-dist <folder>              dist folder to compare with, instead of a ref
  --dist <folder>                   the new build (dist)
  --seed <n> --count <n>            seed of the corpus (1), and number of requests with faults (1500)
  --only <text>                     only scenarios whose name contains this text
  --show <n>                        number of differences that are shown (20)
  --list                            prints the names of the scenarios
  --json                            prints one JSON document`;

const { values } = parseArgs({
  options: {
    base: { type: "string", default: "main" },
    "base-dist": { type: "string" },
    dist: { type: "string", default: at("dist") },
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "1500" },
    only: { type: "string" },
    show: { type: "string", default: "20" },
    list: { type: "boolean" },
    json: { type: "boolean" },
    help: { type: "boolean" },
  },
});

if (values.help) {
  console.log(HELP);
  process.exit(0);
}

const options = { seed: Number(values.seed), count: Number(values.count), only: values.only };
const corpus = createCorpus(options);
if (values.list) {
  for (const { name } of corpus) console.log(name);
  process.exit(0);
}
if (corpus.length === 0) fail(`no scenario has ${values.only} in its name`);

const baseDist = values["base-dist"] === undefined ? await buildBase(values.base) : resolve(values["base-dist"]);
const dist = resolve(values.dist);
for (const folder of [baseDist, dist]) if (!existsSync(join(folder, "entry"))) fail(`${folder} has no folder entry`);

const [base, next] = await Promise.all([transcribe("base", baseDist, options), transcribe("new", dist, options)]);
const differences = corpus.filter(({ name }) => base.get(name) !== next.get(name) || !base.has(name));
report();
process.exitCode = differences.length > 0 ? 1 : 0;

function report() {
  const counts = countCorpus(corpus);
  const shown = differences.slice(0, Number(values.show)).map((scenario) => ({
    name: scenario.name,
    input: scenario,
    diff: diffTranscripts(base.get(scenario.name), next.get(scenario.name)),
  }));
  if (values.json || wantsJson()) {
    console.log(JSON.stringify({ ...counts, differences: differences.map(({ name }) => name), shown }, undefined, 2));
    return;
  }
  for (const { name, input, diff } of shown) {
    const { steps, name: _name, ...about } = input;
    console.log(`\n${name}\n  ${JSON.stringify(about)}`);
    steps.forEach((step, at) => {
      console.log(`  ${at}: ${JSON.stringify(step)}`);
    });
    for (const line of diff) console.log(`  ${line}`);
  }
  if (differences.length > shown.length) console.log(`\n${differences.length - shown.length} more are not shown`);
  const { exchanges, channelScripts, clientScripts } = counts;
  console.log(
    `${exchanges} exchanges, ${channelScripts} channel scripts, ${clientScripts} client scripts: ${differences.length} differences`,
  );
}

function fail(message) {
  console.error(`oracle: ${message}`);
  process.exit(2);
}
