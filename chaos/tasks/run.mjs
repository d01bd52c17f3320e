import { writeFileSync } from "node:fs";
import { absence, engines, placeOf } from "../../scripts/lib/engines.mjs";
import { conclusion } from "../floors.mjs";
import { errorKinds } from "../history/errors.mjs";
import { parseOptions } from "../options.mjs";
import { errorTable, finish, leftTable, table, unrun } from "../report.mjs";
import { judge } from "./check.mjs";
import { sizeOf } from "./limits.mjs";
import { play } from "./world.mjs";

/** Time after its limit in which a run is judged and everything ends. */
const GRACE_MS = 60_000;
/** Number of violations of a rule that are printed. */
const SHOWN = 5;

/**
 * Runs tasks with steps and questions on three workers of an engine, and kills a random worker every five seconds.
 * Compares what clients saw of their tasks with a record of the handlers.
 */
export async function runTasks(args) {
  const { names, isShort, seed, file, json } = parseOptions(args);
  const documents = [];
  for (const engine of names) {
    const missing = findMissing(engine);
    if (missing === undefined) documents.push(await run({ engine, isShort, seed, file, json }));
    else documents.push(unrun({ engine, seed }, { doubts: [missing] }));
    if (missing !== undefined && !json) console.log(missing);
  }
  finish(documents, { json });
}

async function run({ engine, isShort, seed, file, json }) {
  const begun = performance.now();
  const { limitMs } = sizeOf(isShort);
  const hard = setTimeout(() => {
    process.stderr.write(`chaos of tasks on ${engine} did not end within ${limitMs + GRACE_MS} ms\n`);
    process.exit(1);
  }, limitMs + GRACE_MS);
  const history = await play({ engine, isShort, seed });
  clearTimeout(hard);
  const seconds = Math.round((performance.now() - begun) / 1000);
  const { floors, errors, nodeErrors } = history;
  const document = {
    engine,
    seed,
    seconds,
    floors,
    ...judge(history),
    errors: { nodes: errorKinds(nodeErrors), clients: errorKinds(errors) },
  };
  if (file !== undefined)
    writeFileSync(file, JSON.stringify({ ...history, errors: [...errors], nodeErrors: [...nodeErrors] }));
  if (!json) console.log(`${toText(document)}\n`);
  return document;
}

function toText({ engine, seed, seconds, counts, floors, recovery, errors, left, rules, problems, doubts }) {
  return [
    `Chaos of tasks on ${engine}: ${seconds} s, seed ${seed}`,
    "",
    ...table(
      ["load", "number", "minimum"],
      Object.entries(counts).map(([name, count]) => [name, count, floors[name] ?? "-"]),
    ),
    "",
    ...table(
      ["from a kill to the next run of its tasks", "ms"],
      [
        ["half", recovery.p50],
        ["99 of 100", recovery.p99],
        ["longest", recovery.max],
      ],
    ),
    "",
    ...errorTable("nodes", errors.nodes),
    "",
    ...errorTable("clients", errors.clients),
    "",
    ...leftTable(left),
    "",
    ...table(
      ["violations of", "number"],
      rules.map(({ rule, violations }) => [rule, violations.length]),
    ),
    "",
    ...rules.flatMap(({ rule, violations }) => violations.slice(0, SHOWN).map((text) => `${rule}: ${text}`)),
    ...conclusion({ problems, doubts }),
  ].join("\n");
}

/** Returns the reason why an engine cannot be used. */
function findMissing(name) {
  const engine = engines[name] && { ...engines[name], variable: undefined };
  return engine !== undefined && placeOf(engine) === undefined ? absence(name, engine) : undefined;
}
