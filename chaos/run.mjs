import { writeFileSync } from "node:fs";
import { absence, engines, placeOf } from "../scripts/lib/engines.mjs";
import { judge } from "./judge.mjs";
import { sizeOf } from "./limits.mjs";
import { parseOptions } from "./options.mjs";
import { finish, toText, unrun } from "./report.mjs";
import { runTasks } from "./tasks/run.mjs";
import { play } from "./world.mjs";

/**
 * Runs three nodes behind nginx on an engine, with clients of both eras, while nodes and the engine are killed and
 * stopped. Compares what the clients were told with a record of the handlers. `npm run chaos -- --help` prints the
 * options.
 */
if (process.argv[2] === "tasks") await runTasks(process.argv.slice(3));
const { names, isShort, seed, broken, file, json } = parseOptions(process.argv.slice(2));

/** Time after its limit in which the last calls settle, everything ends and the run is judged. */
const GRACE_MS = 100_000;

const say = (text) => process.stderr.write(`${text}\n`);
const documents = [];
for (const name of names) {
  const missing = findMissing(name);
  if (missing === undefined) documents.push(await run(name).catch((error) => failure(name, error)));
  else documents.push(unrun({ engine: name, seed, broken }, { doubts: [missing] }));
  if (missing !== undefined && !json) console.log(missing);
}
finish(documents, { json });

async function run(engine) {
  const begun = performance.now();
  const { limitMs } = sizeOf(isShort);
  const hard = setTimeout(() => {
    console.log(`FAILED: chaos on ${engine} with seed ${seed} did not end within ${limitMs + GRACE_MS} ms`);
    process.exit(1);
  }, limitMs + GRACE_MS);
  const history = await play({ engine, isShort, seed, broken, say }).finally(() => clearTimeout(hard));
  const seconds = Math.round((performance.now() - begun) / 1000);
  const document = { engine, seed, broken, seconds, floors: history.floors, ...judge(history) };
  if (file !== undefined)
    writeFileSync(
      file,
      JSON.stringify(history, (_, value) => (value instanceof Map ? [...value] : value)),
    );
  if (!json) console.log(`${toText(document)}\n`);
  return document;
}

/** Reports a run that could not go on. */
function failure(engine, error) {
  if (!json) console.log(`FAILED: chaos on ${engine} with seed ${seed}: ${error.stack}\n`);
  return unrun({ engine, seed, broken }, { problems: [error.stack] });
}

/** Returns the reason why an engine cannot be used. An engine at an address cannot be killed, so that it is no use. */
function findMissing(name) {
  for (const needed of name === "workers" ? [] : [name, "nginx"]) {
    const engine = engines[needed] && { ...engines[needed], variable: undefined };
    if (engine !== undefined && placeOf(engine) === undefined) return absence(needed, engine);
  }
  return undefined;
}
