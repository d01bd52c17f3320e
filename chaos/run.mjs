import { writeFileSync } from "node:fs";
import { judge } from "./judge.mjs";
import { sizeOf } from "./limits.mjs";
import { parseOptions } from "./options.mjs";
import { toText } from "./report.mjs";
import { play } from "./world.mjs";

/**
 * Runs three nodes behind nginx on an engine, with clients of both eras, while nodes and the engine are killed and
 * stopped. Compares what the clients were told with a record of the handlers. `npm run chaos -- --help` prints the
 * options.
 */
const { engines, isShort, seed, broken, json } = parseOptions(process.argv.slice(2));
const say = (text) => process.stderr.write(`${text}\n`);
const documents = [];
for (const engine of engines) {
  const begun = performance.now();
  const { limitMs } = sizeOf(isShort);
  const hard = setTimeout(() => {
    say(`chaos on ${engine}: ended after ${limitMs} ms`);
    process.exit(1);
  }, limitMs + 30_000);
  const history = await play({ engine, isShort, seed, broken, say });
  clearTimeout(hard);
  const seconds = Math.round((performance.now() - begun) / 1000);
  const document = { engine, seed, broken, seconds, floors: history.floors, ...judge(history) };
  documents.push(document);
  if (process.env.CHAOS_HISTORY)
    writeFileSync(
      process.env.CHAOS_HISTORY,
      JSON.stringify({
        ...history,
        sessions: [...history.sessions],
        nodeErrors: [...history.nodeErrors],
        clientErrors: [...history.clientErrors],
      }),
    );
  if (!json) console.log(`${toText(document)}\n`);
}
const failed = documents.filter(({ problems }) => problems.length > 0).length;
if (json) console.log(JSON.stringify(documents, undefined, 2));
else console.log(`${documents.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
