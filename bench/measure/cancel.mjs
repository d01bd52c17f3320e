import { on, peers } from "../adapters/peers.mjs";
import { quantile, round } from "../lib/stats.mjs";
import { wires } from "../workload/wires.mjs";
import { cancellingByClient, cancellingByHand } from "./cancelling.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const megabyte = 1_048_576;
const batch = 100;
const mostMs = 60_000;

/**
 * Idle connections that a client may keep over HTTP beyond its first ones (`limits.maxIdleConnections` of Bowline's
 * client). Each is a handle and an open file on both sides.
 */
const keptConnections = 8;

/**
 * Measures the time from a cancellation to the handler's signal, in milliseconds, and what cancelled calls leave
 * behind: `{ raw: { wire: { peer } }, clients: { wire: { peer } }, worst: { peer } }`. `raw` cancels with plain
 * messages, which shows the server's side only. `clients` aborts calls of the SDK's own client, which shows both sides.
 */
export async function measureCancel(run) {
  const result = { raw: {}, clients: {} };
  for (const wire of run.short ? ["http modern", "in-process modern"] : Object.keys(wires)) {
    const chosen = on(wire).filter((peer) => !run.narrow || peer === "bowline");
    if (!run.short) {
      const able = chosen.filter((peer) => peers[peer].cancels[wire] !== undefined);
      await each(run, result.raw, wire, able, (peer) => cancellingByHand(peer, wire));
    }
    const able = chosen.filter((peer) => peers[peer].client);
    await each(run, result.clients, wire, able, (peer) => cancellingByClient(peer, wire));
  }
  return { ...result, worst: worstOf(result) };
}

async function each(run, tree, wire, able, start) {
  for (const peer of able) {
    run.progress.step(`${peer}, ${wire}`);
    const way = await start(peer);
    try {
      tree[wire] ??= {};
      tree[wire][peer] = await measureWay(run, way, countFor(run, peer));
    } finally {
      await way.stop();
    }
  }
}

/**
 * Returns the number of calls. Some peers leave a socket per cancelled call and would run out of them, so they get
 * fewer.
 */
function countFor(run, peer) {
  if (run.short) return 1000;
  return peer === "bowline" ? 10_000 : 2000;
}

async function measureWay(run, way, count) {
  const start = await settledOf(way.sides);
  const samples = run.short ? 30 : 150;
  const latency = way.host === undefined ? {} : await latencyOf(way, samples);
  // After these calls everything is compiled and every table has grown.
  await cancelMany(way, Math.min(count, 2000));
  const before = await settledOf(way.sides, start);
  const counted = await cancelMany(way, count);
  const after = await settledOf(way.sides, start);
  return { ...latency, ...counted, left: leftOf(before, after, start) };
}

/** Measures one call at a time. The first calls are warm-up. */
async function latencyOf(way, samples) {
  const values = [];
  for (let index = -20; index < samples; index++) {
    const tag = `tag${index}`;
    const sent = await cancelBatch(way, [tag]);
    const seen = await way.host.ask("cancelTimes");
    if (index >= 0 && seen[tag] !== undefined) values.push(seen[tag] - sent[tag]);
  }
  return { samples: values.length, p50Ms: round(quantile(values, 0.5)), p99Ms: round(quantile(values, 0.99)) };
}

/**
 * Returns the number of calls, of handlers that began, and of handlers that were told of the cancellation, if known.
 */
async function cancelMany(way, count) {
  const before = await way.host?.ask("counts");
  const end = performance.now() + mostMs;
  let calls = 0;
  for (; calls < count && performance.now() < end; calls += batch) await cancelBatch(way, Array(batch).fill(""));
  const after = await way.host?.ask("counts");
  if (after === undefined) return { calls };
  return { calls, handlers: after.started - before.started, signals: after.cancelled - before.cancelled };
}

/** Cancels when every handler has begun, and waits until all of them have been told, or should have been. */
async function cancelBatch(way, tags) {
  const before = await way.host?.ask("counts");
  await way.begin(tags);
  await reached(way, (now) => now.started - before.started >= tags.length);
  const sent = await way.abort();
  await sleep(2);
  await reached(way, (now) => now.cancelled - before.cancelled >= tags.length);
  return sent;
}

async function reached({ host }, isReached) {
  if (host === undefined) return sleep(10);
  for (const end = performance.now() + 2000; performance.now() < end; await sleep(1)) {
    if (isReached(await host.ask("counts"))) return;
  }
}

/**
 * Measures each side after garbage collection. Idle sockets are closed after some seconds, so it waits for that if
 * there is a start value.
 */
async function settledOf(sides, start) {
  let now;
  for (let tries = 0; tries < 10; tries++) {
    now = {};
    for (const side of Object.keys(sides)) now[side] = await sides[side].ask("settled");
    if (start === undefined) return now;
    if (Object.keys(sides).every((side) => isBack(now[side], start[side]))) return now;
    await sleep(1000);
  }
  return now;
}

const isBack = (now, start) =>
  (now.files ?? 0) <= (start.files ?? 0) + keptConnections && now.handles <= start.handles + keptConnections;

/** Compares the heap with its size after warm-up, and handles and open files with their first counts. */
function leftOf(before, after, start) {
  const left = {};
  for (const side of Object.keys(after)) {
    left[side] = {
      heapMb: round((after[side].heap - before[side].heap) / megabyte),
      handles: Math.max(0, after[side].handles - start[side].handles),
      files: Math.max(0, (after[side].files ?? 0) - (start[side].files ?? 0)),
    };
  }
  return left;
}

/** Returns the worst values of all wires and sides of a peer: `{ peer: { heapMb, handles, files, untold } }`. */
function worstOf(trees) {
  const worst = {};
  for (const [peer, { left, handlers, signals }] of Object.values(trees)
    .flatMap(Object.values)
    .flatMap(Object.entries)) {
    worst[peer] ??= { heapMb: 0, handles: 0, files: 0, untold: 0 };
    const own = worst[peer];
    for (const side of Object.values(left)) {
      for (const key of ["heapMb", "handles", "files"]) own[key] = Math.max(own[key], side[key]);
    }
    if (handlers !== undefined) own.untold = Math.max(own.untold, handlers - signals);
  }
  return worst;
}
