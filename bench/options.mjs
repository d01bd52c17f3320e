import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { at, wantsJson } from "../scripts/lib/project.mjs";

const help = `npm run bench -- [options]

  --short           fewer rounds, cells and peers: two minutes
  --targets         only what the targets speak of, but as long as in a whole run: a quarter of an hour
  --only <name>     only what begins so, as "http modern", "client" or "cancel"; may be repeated
  --peer <name>     only this one beside Bowline and the floor, as "mcp-lite"; may be repeated
  --rounds <n>      rounds in which all take turns (5, short 3, targets 12)
  --json            one JSON document on stdout
  --out <folder>    where the results go (bench/results)
  --docs            also docs/performance.md, .json and .svg

npm run bench -- --base <git ref> [--only <wire>] [--pairs <n>] [--json]

  --base <git ref>  compare the working tree with this commit, each as its package is installed: CPU time per call of the
                    server, on each wire (in process, of server and client); about 5 minutes, and no peer is needed
  --only <wire>     only wires whose name begins so; may be repeated
  --pairs <n>       pairs of windows per wire (40); each 8 have fresh processes

Per wire: the median paired difference with its 95 % interval, and a verdict. "at most 3 % worse": the whole interval is
below +3 %; "worse": the whole interval is above; "undecided": neither, so take more pairs or a quieter machine.`;

const FORMS = {
  short: { rounds: 3, windowMs: 80 },
  targets: { rounds: 12, windowMs: 125 },
  whole: { rounds: 5, windowMs: 500 },
};

export function parseOptions(args) {
  const { values } = parse(args);
  if (values.help) leave(0, help);
  if (values.docs && (values.only ?? values.peer)) leave(2, "--docs tells of a whole run: leave --only and --peer out");
  if (values.docs && values.targets) leave(2, "--docs tells of a whole run: leave --targets out");
  if (values.base === undefined && values.pairs !== undefined) leave(2, "--pairs belongs to --base");
  const foreign = ["short", "targets", "docs", "peer", "rounds", "out"].filter((name) => values[name] !== undefined);
  if (values.base !== undefined && foreign.length > 0) leave(2, `--base goes without --${foreign.join(" and --")}`);
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
