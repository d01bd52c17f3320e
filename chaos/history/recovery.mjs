import { ASK_MS } from "../limits.mjs";
import { wasRunning } from "./runs.mjs";

/** Longest planned outage of an engine. The time that a busy machine takes to start it again is no recovery. */
const OUTAGE_MS = 2_000;
/** Duration from which on a call has waited. Calls that fail or end at once would hide others in a share of all. */
const WAIT_MS = 1_000;

/**
 * Returns the times of recovery in milliseconds, by group, so that no group hides another one. Calls that ran where a fault
 * happened have the time from the fault to their end, and their clients the time to their next success. Other calls that
 * were open or began during the fault count from their begin, if that is later. Other clients count from the fault or, if
 * they had no call then, from their next call or handshake. For these others, the times of other faults do not count.
 * The time that a client takes to end a session, in which it makes no calls, does not count.
 */
export function recoveryTimes({ calls, faults, handshakes, leaves, runOf }) {
  const times = {
    "calls that ran there": [],
    "their clients": [],
    "other calls that waited": [],
    "other clients": [],
  };
  const callsOf = groupByClient(calls);
  for (const fault of faults) {
    const { at, until = Number.POSITIVE_INFINITY } = fault;
    const start = startOf(fault);
    const others = faults.filter((other) => other !== fault);
    const between = (from, to) => Math.max(0, to - from - sharedBy(others, from, to));
    const open = calls.filter((call) => call.beganAt <= until && endOf(call) > at);
    const ran = new Set(open.filter((call) => ranThere(call, runOf(call), fault)));
    const waited = open.filter((call) => !ran.has(call) && endOf(call) - call.beganAt >= WAIT_MS);
    for (const call of ran) times["calls that ran there"].push(Math.max(0, endOf(call) - limitOf(call) - start));
    for (const call of waited)
      times["other calls that waited"].push(between(Math.max(call.beganAt, start), endOf(call) - limitOf(call)));
    const clients = new Set([...ran].map(({ client }) => client));
    for (const [client, own] of callsOf) {
      const isOwn = (item) => item.client === client;
      const success = nextSuccess(own, at);
      const from = Math.max(start, nextTry(own, handshakes.filter(isOwn), at));
      const left = (since) => sharedBy(leaves.filter(isOwn), since, success);
      if (clients.has(client)) times["their clients"].push(Math.max(0, success - start - left(start)));
      else times["other clients"].push(Math.max(0, between(from, success) - left(from)));
    }
  }
  return times;
}

/** Returns the part of a time that spans cover which have ended. Spans do not overlap. */
function sharedBy(spans, from, to) {
  const partOf = ({ at, until = at }) => Math.max(0, Math.min(until, to) - Math.max(at, from));
  return spans.reduce((sum, span) => sum + partOf(span), 0);
}

/** Returns the time at which a client wants something again. A client that ends a session makes no calls. */
function nextTry(calls, handshakes, at) {
  if (calls.some((call) => call.beganAt <= at && endOf(call) > at)) return at;
  const times = [...calls.map(({ beganAt }) => beganAt), ...handshakes.map((handshake) => handshake.at)];
  const tries = times.filter((time) => time >= at);
  return tries.length === 0 ? at : Math.min(...tries);
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
  return backAt ?? (kind === "engine" ? Math.max(at, until - OUTAGE_MS) : at);
}

function ranThere(call, run, { kind, nodes, at }) {
  if (kind === "engine" && nodes.length === 0) return wasRunning(call, run, undefined, at);
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
