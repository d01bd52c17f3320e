import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "../scripts/oracle/corpus/random.mjs";
import { startBalancer } from "./balancer.mjs";
import { Faults, restartOf } from "./faults.mjs";
import { nothingLeft } from "./history/left.mjs";
import { readLeft } from "./left.mjs";
import { sizeOf } from "./limits.mjs";
import { LoadClient } from "./load/client.mjs";
import { OfficialClient } from "./load/official.mjs";
import { Pace } from "./load/pace.mjs";
import { Record } from "./load/record.mjs";
import { Wire } from "./load/wire.mjs";
import { Nodes } from "./nodes.mjs";
import { Running } from "./running.mjs";
import { lengthOf, planFaults } from "./schedule.mjs";
import { recordStalls } from "./stalls.mjs";
import { createFolder } from "./support.mjs";
import { readTruth, Truth } from "./truth.mjs";

/** Numbers of clients by era. Half of each recover. */
const CLIENTS = { legacy: 12, modern: 8 };
/** Clients of the official SDK, with the version of each. */
const OFFICIAL = { official1: "v1", official2: "v2", official3: "v1", official4: "v2" };
/** Time before the first fault, and time in which the last changes arrive. */
const WARM_MS = 1_500;
const SETTLE_MS = 5_000;
/** Time in which all calls settle after the last fault, and in which processes end. */
const LATEST_MS = 25_000;
const END_MS = 5_000;

/** Runs nodes, clients and faults on an engine. Returns the history. */
export async function play({ engine: name, isShort, seed, broken, say }) {
  const folder = await createFolder();
  const random = new Random(seed);
  const { openEngine } = await import(`./engines/${name}.mjs`);
  const engine = await openEngine();
  engine.outage ??= restartOf(engine);
  const { floors, limitMs } = sizeOf(isShort, engine);
  const file = join(folder, "truth");
  const { address, program, process } = engine;
  const nodes = new (engine.Nodes ?? Nodes)({ program, process, engine: name, address, file, seed, broken });
  let balancer;
  try {
    await nodes.start();
    await engine.prepare?.();
    balancer = nodes.ports === undefined ? direct(nodes) : await startBalancer(nodes.ports);
    const plan = planFaults(floors, random, engine);
    say(`${name}: ${plan.length} faults in ${Math.round(lengthOf(plan) / 1000)} s, ${floors.calls} calls`);
    const record = new Record();
    recordStalls(new Truth(file, "clients"));
    const faults = new Faults({ nodes, engine, running: new Running(file, record), random });
    const seen = await load({ record, nodes, balancer, faults, plan, floors, limitMs, random });
    const history = {
      ...seen,
      floors,
      faults: faults.done,
      truth: readTruth(file),
    };
    const { left, at: leftAt } = await readLeft(engine, (list) =>
      nothingLeft({ ...history, ...list, leftAt: list.at }),
    );
    return {
      ...history,
      left,
      leftAt,
      accidents: [...nodes.accidents.map((accident) => `a node died by itself: ${accident}`), ...faults.problems],
      nodeErrors: nodes.errors,
      truth: readTruth(file),
    };
  } finally {
    await within(END_MS, nodes.end());
    await within(END_MS, balancer?.end());
    await within(END_MS, engine.end());
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Nodes that share a port need no load balancer. */
function direct({ port }) {
  return { plain: port, kind: port, end: async () => {} };
}

async function load({ record, nodes, balancer, faults, plan, floors, limitMs, random }) {
  const pace = new Pace(floors.calls, lengthOf(plan) + WARM_MS);
  const clientErrors = new Map();
  const onError = (error) => clientErrors.set(`${error}`, (clientErrors.get(`${error}`) ?? 0) + 1);
  const urlOf = ({ recovers }) => `http://127.0.0.1:${recovers ? balancer.kind : balancer.plain}/mcp`;
  const clients = [];
  const wire = new Wire(record);
  const world = { record, wire, pace, urlOf, clients, onError };
  for (const [era, count] of Object.entries(CLIENTS))
    for (let number = 0; number < count; number++)
      clients.push(
        new LoadClient(world, {
          name: `${era}${number}`,
          era,
          recovers: number % 2 === 0,
          random: new Random(random.below(2 ** 31)),
        }),
      );
  for (const [name, sdk] of Object.entries(OFFICIAL))
    clients.push(new OfficialClient(world, { name, sdk, random: new Random(random.below(2 ** 31)) }));
  const begunAt = Date.now();
  const all = (work) => Promise.all(clients.map(work));
  const limit = setTimeout(() => pace.end(), limitMs);
  const working = all((client) => client.run());
  await sleep(WARM_MS);
  await within(
    limitMs,
    faults.run(plan, () => pace.isOver),
  );
  pace.onFaultsOver();
  await within(Math.max(LATEST_MS, begunAt + limitMs - Date.now()), working);
  clearTimeout(limit);
  pace.end();
  const loadEndedAt = pace.endedAt;
  nodes.calm();
  await sleep(1_000);
  await within(
    LATEST_MS,
    all((client) => client.finish()),
  );
  await sleep(SETTLE_MS);
  const endedAt = Date.now();
  await within(
    END_MS,
    all((client) => client.close()),
  );
  wire.end();
  return { ...record, clientErrors, begunAt, loadEndedAt, endedAt };
}

/** Waits for work, for a limited time. */
async function within(ms, work) {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(ms, undefined, { signal: over.signal })]);
  } finally {
    over.abort();
  }
}
