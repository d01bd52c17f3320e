import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { at } from "../../scripts/lib/project.mjs";
import { Random } from "../../scripts/oracle/corpus/random.mjs";
import { stallsOf } from "../history/troubles.mjs";
import { readLeft } from "../left.mjs";
import { Nodes } from "../nodes.mjs";
import { createFolder } from "../support.mjs";
import { readTruth } from "../truth.mjs";
import { nothingLeft } from "./left.mjs";
import { KILL_MS, sizeOf } from "./limits.mjs";
import { Load } from "./load.mjs";

/** Runs workers, tasks and kills on an engine. Returns the history. */
export async function play({ engine: name, isShort, seed }) {
  const { floors, limitMs } = sizeOf(isShort);
  const folder = await createFolder();
  const { openEngine } = await import(`../engines/${name}.mjs`);
  const engine = await openEngine();
  const file = join(folder, "truth");
  const { address, program, process } = engine;
  const nodes = new Nodes({ program, process, main: at("chaos/tasks/node.mjs"), engine: name, address, file, seed });
  const random = new Random(seed);
  try {
    await nodes.start();
    const load = new Load(nodes, new Random(random.below(2 ** 31)));
    const begunAt = Date.now();
    const kills = await runAll(nodes, load, { count: floors.tasks, limitMs, random });
    const { tasks, uncertain, errors, waits, ends } = load;
    const { accidents, errors: nodeErrors } = nodes;
    const entries = readTruth(file);
    const isOfMachine = ({ kind }) => kind === "stall" || kind === "ran";
    const truth = entries.filter((entry) => !isOfMachine(entry)).map(toTaskEntry);
    const machine = entries.filter(isOfMachine);
    const seen = { tasks, uncertain, errors, waits, ends, kills, accidents, nodeErrors };
    const { left } = await readLeft(engine, (list) => nothingLeft({ ...seen, left: list.left, stalls: [] }));
    return { ...seen, left, floors, begunAt, endedAt: Date.now(), stalls: stallsOf(machine), machine, truth };
  } finally {
    await nodes.end();
    await engine.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runAll(nodes, load, { count, limitMs, random }) {
  const kills = [];
  const limit = setTimeout(() => {
    load.isOver = true;
  }, limitMs);
  const killing = killUntil(() => load.isOver, nodes, random, kills);
  await load.run(count);
  const isComplete = !load.isOver;
  load.isOver = true;
  clearTimeout(limit);
  await killing;
  if (isComplete) await load.readAgain();
  await load.close();
  return kills;
}

/** Kills a random worker every five seconds, and starts it again at once. */
async function killUntil(isOver, nodes, random, kills) {
  let next = Date.now() + KILL_MS;
  while (!isOver()) {
    await sleep(Math.min(200, Math.max(0, next - Date.now())));
    if (isOver() || Date.now() < next) continue;
    next += KILL_MS;
    const slot = random.below(nodes.slots.length);
    kills.push({ node: nodes.nameOf(slot), at: Date.now() });
    await nodes.kill(slot);
    await nodes.startNode(slot);
  }
}

/** Returns an entry of a handler. The step of a `begin` is the tool. */
function toTaskEntry({ kind, node, subject, principal: step, session: value, at }) {
  return { kind, node, number: Number(subject), step, value, at };
}
