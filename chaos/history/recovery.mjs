import { coveredBy, machineStalls } from "../floors.mjs";
import { ASK_MS, RECOVERY_MS } from "../limits.mjs";
import { wasRunning } from "./runs.mjs";
import { isOfEngine } from "./troubles.mjs";

/** Longest planned outage of an engine. The time that a busy machine takes to start it again is no recovery. */
const OUTAGE_MS = 2_000;
/** Duration from which on a call has waited. Calls that fail or end at once would hide others in a share of all. */
const WAIT_MS = 1_000;

/**
 * Returns the times of recovery in milliseconds, by group, so that no group hides another one. Calls that ran where a fault
 * happened have the time from the fault to their end, and their clients the time to their next success. Other calls that
 * were open or began during the fault count from their begin, if that is later. Other clients count from the fault or, if
 * they had no call then, from their next call or handshake. For these others, the times of other faults do not count.
 * The time that a client takes to end a session, in which it makes no calls, does not count, nor do stalls of the machine.
 */
export function recoveryTimes({
  calls,
  faults,
  handshakes,
  leaves,
  truth,
  runOf,
  loadEndedAt = Number.POSITIVE_INFINITY,
}) {
  const times = {
    "calls that ran there": [],
    "their clients": [],
    "other calls that waited": [],
    "other clients": [],
  };
  const callsOf = groupByClient(calls);
  const stops = faults.filter(({ kind }) => kind === "stop");
  const stalls = machineStalls(truth, stops);
  const between = (from, to, spans) => Math.max(0, to - from - coveredBy(spans, from, to));
  for (const fault of faults) {
    const { at, until = Number.POSITIVE_INFINITY } = fault;
    const start = startOf(fault);
    const others = [...stalls, ...faults.filter((other) => other !== fault)];
    const open = calls.filter((call) => call.beganAt <= until && endOf(call) > at);
    const ran = new Set(open.filter((call) => ranThere(call, runOf(call), fault)));
    const waited = open.filter((call) => !ran.has(call) && endOf(call) - call.beganAt >= WAIT_MS);
    for (const call of ran) times["calls that ran there"].push(between(start, endOf(call) - limitOf(call), stalls));
    for (const call of waited)
      times["other calls that waited"].push(
        between(Math.max(call.beganAt, start), endOf(call) - limitOf(call), others),
      );
    const clients = new Set([...ran].map(({ client }) => client));
    for (const [client, own] of callsOf) {
      const isOwn = (item) => item.client === client;
      const success = nextSuccess(own, at);
      const wanted = nextTry(own, handshakes.filter(isOwn), at);
      if (success === Number.POSITIVE_INFINITY && isCutOff(Math.max(start, wanted ?? loadEndedAt), loadEndedAt))
        continue;
      const from = Math.max(start, wanted ?? at);
      const left = leaves.filter(isOwn);
      if (clients.has(client)) times["their clients"].push(between(start, success, [...stalls, ...left]));
      else times["other clients"].push(between(from, success, [...others, ...left]));
    }
  }
  return times;
}

/** True if the load ended before a client could have recovered, so that nothing is known of it. */
function isCutOff(from, loadEndedAt) {
  return loadEndedAt - from < RECOVERY_MS;
}

/**
 * Returns the time at which a client wants something again, or undefined if it wants nothing any more. A client that ends a
 * session makes no calls.
 */
function nextTry(calls, handshakes, at) {
  if (calls.some((call) => call.beganAt <= at && endOf(call) > at)) return at;
  const times = [...calls.map(({ beganAt }) => beganAt), ...handshakes.map((handshake) => handshake.at)];
  const tries = times.filter((time) => time >= at);
  const isConnecting = handshakes.some((handshake) => handshake.at < at && handshake.until === undefined);
  if (tries.length === 0) return isConnecting ? at : undefined;
  return Math.min(...tries);
}

/** A handler whose question gets no answer ends by its own limit, which is no part of the recovery. */
const limitOf = ({ kind, settlements: [end] }) => (kind === "ask" && end?.how === "failed" ? ASK_MS : 0);

const endOf = ({ settlements }) => settlements[0]?.at ?? Number.POSITIVE_INFINITY;

function groupByClient(calls) {
  const groups = new Map();
  for (const call of calls) {
    const group = groups.get(call.client) ?? [];
    groups.set(call.client, group);
    group.push(call);
  }
  return groups;
}

/**
 * Returns the time from which the recovery counts. If all nodes were away, it is the time at which they are back. An outage
 * of the engine alone counts with its planned length at most.
 */
function startOf({ kind, at, until, backAt }) {
  return backAt ?? (isOfEngine({ kind }) ? Math.max(at, until - OUTAGE_MS) : at);
}

function ranThere(call, run, { kind, nodes, at }) {
  if (isOfEngine({ kind }) && nodes.length === 0) return wasRunning(call, run, undefined, at);
  return nodes.some((node) => wasRunning(call, run, node, at));
}

function nextSuccess(calls, from) {
  let first = Number.POSITIVE_INFINITY;
  for (const { beganAt, settlements } of calls)
    if (beganAt >= from && settlements[0]?.how === "result") first = Math.min(first, settlements[0].at);
  return first;
}

/** Returns the value below which a part of the values is. */
export function quantile(values, part) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0;
}
