import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { at, wantsJson } from "../scripts/lib/project.mjs";

const help = `npm run bench -- [options]

  --short           fewer rounds, cells and peers; takes two minutes
  --targets         only the targets, as long as in a full run; takes about half an hour
  --only <name>     only sections whose name begins with this, such as "http modern", "client" or "stages http legacy json";
                    may be repeated
  --peer <name>     only this peer besides Bowline and plain Node, such as "mcp-lite"; may be repeated
  --rounds <n>      number of rounds (5; with --short 3, with --targets 12)
  --json            prints one JSON document on stdout
  --out <folder>    folder of the results (bench/results)
  --docs            also writes docs/performance.md, .json and .svg, and the part of the README

npm run bench -- --base <git ref> [--only <wire>] [--pairs <n>] [--json]

  --base <git ref>  compares the working tree with this commit, each as users install it: CPU time per call of the server on
                    each wire (in process: of server and client); takes about 5 minutes and needs no peers
  --only <wire>     only wires whose name begins with this; may be repeated
  --pairs <n>       pairs of windows per wire (40); every 8 pairs use new processes

Prints per wire the median paired difference with its 95 % interval and a verdict. "at most 3 % worse": the whole interval
is below +3 %. "worse": the whole interval is above. "undecided": neither; use more pairs or a quieter machine.`;

const FORMS = {
  short: { rounds: 3, windowMs: 80 },
  targets: { rounds: 12, windowMs: 125 },
  whole: { rounds: 5, windowMs: 500 },
};

export function parseOptions(args) {
  const { values } = parse(args);
  if (values.help) leave(0, help);
  if (values.docs && (values.only ?? values.peer)) leave(2, "--docs needs a full run: remove --only and --peer");
  if (values.docs && values.targets) leave(2, "--docs needs a full run: remove --targets");
  if (values.base === undefined && values.pairs !== undefined) leave(2, "--pairs needs --base");
  const foreign = ["short", "targets", "docs", "peer", "rounds", "out"].filter((name) => values[name] !== undefined);
  if (values.base !== undefined && foreign.length > 0)
    leave(2, `--base cannot be combined with --${foreign.join(" and --")}`);
  const pairs = Number(values.pairs ?? 40);
  if (!Number.isInteger(pairs) || pairs < 1) leave(2, "--pairs takes a whole number from 1");
  // Other programs are busy for seconds at a time. With many short turns, all subjects are disturbed alike.
  const form = values.short ? FORMS.short : values.targets ? FORMS.targets : FORMS.whole;
  const rounds = Number(values.rounds ?? form.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) leave(2, "--rounds takes a whole number from 1");
  return {
    short: values.short === true,
    narrow: values.short === true || values.targets === true,
    docs: values.docs === true,
    json: wantsJson(),
    base: values.base,
    pairs,
    only: values.only ?? [],
    peers: values.peer,
    rounds,
    out: values.out === undefined ? at("bench/results") : resolve(values.out),
    windowMs: form.windowMs,
    warmUp: values.short ? { calls: 3000, ms: 600 } : { calls: 10_000, ms: 4000 },
  };
}

function parse(args) {
  const flag = { type: "boolean" };
  try {
    return parseArgs({
      args,
      options: {
        short: flag,
        targets: flag,
        docs: flag,
        json: flag,
        help: flag,
        only: { type: "string", multiple: true },
        peer: { type: "string", multiple: true },
        rounds: { type: "string" },
        out: { type: "string" },
        base: { type: "string" },
        pairs: { type: "string" },
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
