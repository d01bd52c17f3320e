import { wasRunning } from "./runs.mjs";

/** Longest planned outage of an engine. The time that a busy machine takes to start it again is no recovery. */
const OUTAGE_MS = 2_000;

/**
 * Returns the times of recovery in milliseconds: for each call that ran where a fault happened, from the fault to its
 * settling, and for each client of such a call, from the fault to its next success.
 */
export function recoveryTimes({ calls, faults, runOf }) {
  return faults.flatMap((fault) => {
    const affected = calls.filter((call) => isAffected(call, runOf(call), fault));
    const clients = new Set(affected.map(({ client }) => client));
    const settled = affected.map(({ settlements }) => settlements[0]?.at ?? Number.POSITIVE_INFINITY);
    const next = [...clients].map((client) => nextSuccess(calls, client, fault.at));
    return [...settled, ...next].map((at) => Math.max(0, at - startOf(fault)));
  });
}

/** Returns the time from which the recovery counts. If all nodes were away, it is the time at which they are back. */
function startOf({ kind, at, until, backAt }) {
  return backAt ?? (kind === "engine" ? Math.max(at, until - OUTAGE_MS) : at);
}

function isAffected(call, run, { kind, nodes, at }) {
  if (kind === "engine" && nodes.length === 0) return wasRunning(call, run, undefined, at);
  return nodes.some((node) => wasRunning(call, run, node, at));
}

function nextSuccess(calls, client, from) {
  let first = Number.POSITIVE_INFINITY;
  for (const call of calls) {
    const [settlement] = call.settlements;
    if (call.client === client && call.beganAt >= from && settlement?.how === "result")
      first = Math.min(first, settlement.at);
  }
  return first;
}

/** Returns the value below which a part of the values is. */
export function quantile(values, part) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0;
}
