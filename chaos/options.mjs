import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { at, wantsJson } from "../scripts/lib/project.mjs";

const ENGINES = readdirSync(at("chaos/engines")).map((file) => file.replace(/\.mjs$/, ""));

const help = `npm run chaos -- [tasks] <engine> ... [options]

Engines: ${ENGINES.join(", ")}
With "tasks", workers that run tasks are killed: all options but --break apply.

  --short         a run of at most 40 s, with smaller minimum numbers
  --seed <n>      seed of the faults and the load, as printed by an earlier run
  --break fence   switches the fence of streams off in the nodes, so that the run must fail
  --history <f>   writes the history of the last run to a file
  --json          prints one JSON document on stdout

Exits with 0 if all runs pass, and with 1 if a rule was broken, or if a minimum was not reached although the machine
gave enough time. Exits with 3 if no run failed and one is inconclusive: its engine is not installed, or the machine was so
busy that the run proves too little. The report names the reason.`;

export function parseOptions(args) {
  const { values, positionals } = parse(args);
  if (values.help) leave(0, help);
  const unknown = positionals.find((engine) => !ENGINES.includes(engine));
  if (positionals.length === 0 || unknown !== undefined) leave(2, help);
  if (values.break !== undefined && values.break !== "fence") leave(2, '--break takes "fence"');
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  if (!Number.isInteger(seed) || seed < 0) leave(2, "--seed takes a whole number from 0");
  const { short: isShort = false, break: broken, history: file } = values;
  return { names: positionals, isShort, seed, broken, file, json: wantsJson() };
}

function parse(args) {
  const text = { type: "string" };
  const flag = { type: "boolean" };
  try {
    const options = { short: flag, seed: text, break: text, history: text, json: flag, help: flag };
    return parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    return leave(2, error.message);
  }
}

function leave(code, text) {
  console.error(text);
  process.exit(code);
}
