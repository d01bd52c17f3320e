import { LEASE_MS } from "./limits.mjs";

/** Kills for each of the minimum number. A node may have no calls when it is killed, and then its kill does not count. */
const SPARE = 1.2;

/** Time beyond the lease for which a node is stopped. */
const STOP_MS = [500, 1_500];

/**
 * Plans the faults of a run: kills of one or two nodes, stops longer than a lease, and outages of the engine, times without
 * room and losses of its last writes, in an order that the seed decides. `ms` is the length of the fault, `restMs` the time until the next one. The rest leaves time for
 * the recovery, so that it is measured for each fault alone.
 */
export function planFaults(floors, random, { stopMs = STOP_MS } = {}) {
  const faults = [];
  for (let left = Math.floor(floors.kills * SPARE); left > 0; ) {
    const count = left > 1 && random.chance(0.3) ? 2 : 1;
    faults.push({ kind: "kill", count, ms: between(random, 100, 1_000), restMs: LEASE_MS + 800 });
    left -= count;
  }
  for (let left = floors.stops; left > 0; left--)
    faults.push({ kind: "stop", count: 1, ms: LEASE_MS + between(random, ...stopMs), restMs: 1_500 });
  for (let left = floors.engineKills; left > 0; left--)
    faults.push({ kind: "engine", count: 0, ms: between(random, 500, 2_000), restMs: LEASE_MS + 1_500 });
  for (let left = floors.fulls ?? 0; left > 0; left--)
    faults.push({ kind: "full", count: 0, ms: between(random, 800, 1_500), restMs: 2_000 });
  for (let left = floors.rollbacks ?? 0; left > 0; left--)
    faults.push({ kind: "rollback", count: 0, ms: between(random, 1_000, 2_000), restMs: LEASE_MS + 500 });
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
