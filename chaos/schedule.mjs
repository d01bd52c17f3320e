import { LEASE_MS } from "./limits.mjs";

/** Kills for each of the minimum number, since a kill counts only if the node had calls. */
const SPARE = 1.2;

/**
 * Plans the faults of a run: kills of one or two nodes, stops longer than a lease, and outages of the engine, in an order
 * that the seed decides. `ms` is the length of the fault, `restMs` the time until the next one. The rest leaves time for
 * the recovery, so that it is measured for each fault alone.
 */
export function planFaults(floors, random) {
  const faults = [];
  for (let left = Math.ceil(floors.kills * SPARE); left > 0; ) {
    const count = left > 1 && random.chance(0.3) ? 2 : 1;
    faults.push({ kind: "kill", count, ms: between(random, 100, 1_000), restMs: LEASE_MS + 800 });
    left -= count;
  }
  for (let left = floors.stops; left > 0; left--)
    faults.push({ kind: "stop", count: 1, ms: LEASE_MS + between(random, 500, 1_500), restMs: 1_500 });
  for (let left = floors.engineKills; left > 0; left--)
    faults.push({ kind: "engine", count: 0, ms: between(random, 500, 2_000), restMs: LEASE_MS + 1_500 });
  return shuffled(faults, random);
}

/** Returns the time that the faults take. */
export function lengthOf(faults) {
  return faults.reduce((sum, { ms, restMs }) => sum + ms + restMs, 0);
}

const between = (random, least, most) => least + random.below(most - least);

function shuffled(values, random) {
  const rest = [...values];
  return values.map(() => rest.splice(random.below(rest.length), 1)[0]);
}
