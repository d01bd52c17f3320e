import { setTimeout as sleep } from "node:timers/promises";
import { Workers } from "../workers.mjs";

/**
 * Time beyond the lease for which a worker is stopped. Its clients are connected to it, without a load balancer that gives
 * up a silent connection, so that their recovery contains the stop.
 */
const STOP_MS = [200, 700];

/** State in the memory of a primary, which its workers use. Its outage is the end of the primary: everything is lost. */
export async function openEngine() {
  return { Nodes: Workers, stopMs: STOP_MS, outage, end: async () => {} };
}

async function outage({ ms, nodes, fault }) {
  fault.nodes = nodes.slots.map((slot) => nodes.nameOf(slot));
  await nodes.killPrimary();
  fault.lostAt = Date.now();
  await sleep(ms);
  await nodes.startPrimary();
  // Nothing can recover before.
  fault.backAt = Date.now();
}
