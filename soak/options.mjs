import { parseArgs } from "node:util";
import { wantsJson } from "../scripts/lib/project.mjs";

const help = `npm run soak -- [options]

  --seconds <n>   duration (600); the minimum numbers of calls and outages scale with it
  --seed <n>      seed of all random choices, as printed by an earlier run
  --only <name>   only lanes whose name begins with this, such as "http legacy"; may be repeated; without minimum numbers
  --json          prints one JSON document on stdout

Exits with 1 if a call ended in a way that its fault does not explain, if something grew, or if a minimum was not reached.`;

export function parseOptions(args) {
  const { values } = parse(args);
  if (values.help) leave(0, help);
  const seconds = Number(values.seconds ?? 600);
  if (!(seconds >= 10)) leave(2, "--seconds takes a number from 10");
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  if (!Number.isInteger(seed) || seed < 0) leave(2, "--seed takes a whole number from 0");
  return { seconds, seed, only: values.only ?? [], json: wantsJson() };
}

function parse(args) {
  const text = { type: "string" };
  try {
    return parseArgs({
      args,
      options: {
        seconds: text,
        seed: text,
        only: { type: "string", multiple: true },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    return leave(2, error.message);
  }
}

function leave(code, text) {
  console.error(text);
  process.exit(code);
}
