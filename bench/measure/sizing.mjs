import { randomUUID } from "node:crypto";
import { engineProbes } from "../lib/engine-probes.mjs";
import { withEngine } from "../lib/engines.mjs";
import { answersTo, callModern } from "../lib/modern-calls.mjs";
import { Node, openCluster } from "../lib/nodes.mjs";
import { round, spread } from "../lib/stats.mjs";

const sessions = 1000;
const atOnce = 32;
/** Handshakes leave more sessions than a server keeps by default. */
const limits = { maxSessions: 1_000_000 };

/**
 * Measures what an engine keeps and carries: `{ engine: { bytes: { kind }, speed: { operation: { perSecond, engineUs } } } }`.
 * `bytes` is for each of a thousand idle sessions. `engineUs` is the CPU time of the engine for each operation; for SQLite
 * it is that of the whole process.
 */
export async function measureSizing(run) {
  const result = {};
  for (const name of Object.keys(engineProbes)) {
    const measured = await withEngine(run, name, async (url) => {
      const probe = await engineProbes[name](url);
      try {
        return await measureEngine(run, { name, url, probe });
      } finally {
        await probe.close();
      }
    });
    if (measured !== undefined) result[name] = measured;
  }
  return result;
}

async function measureEngine(run, engine) {
  const bytes = {};
  for (const [kind, resumable] of Object.entries({ plain: false, resumable: true })) {
    run.progress.step(`${engine.name}, ${kind} sessions`);
    bytes[kind] = await withNode(engine, resumable, (node, space) => bytesOf(engine.probe, node, space));
  }
  const speed = await withCluster(engine, (cluster) => recordSpeeds(run, engine, cluster));
  Object.assign(speed, await withNode(engine, false, (node) => callSpeeds(run, engine, node)));
  Object.assign(speed, await withNode(engine, true, (node) => loggedSpeeds(run, engine, node)));
  return { bytes, speed };
}

const newSpace = () => `bench_${randomUUID().slice(0, 8)}`;

async function withNode({ name, url }, resumable, use) {
  const space = newSpace();
  const node = await Node.start({ engine: name, url, space, resumable, limits });
  try {
    return await use(node, space);
  } finally {
    await node.close();
  }
}

async function withCluster({ name, url }, use) {
  const { cluster, end } = openCluster(name, { url, space: newSpace() }, { sent: 0, waiting: 0 });
  try {
    await cluster.ready;
    return await use(cluster);
  } finally {
    await cluster.close();
    await end();
  }
}

async function openSessions(node, count) {
  for (let left = count; left > 0; left -= 50) await Promise.all(Array.from({ length: 50 }, () => node.open()));
}

async function bytesOf(probe, node, space) {
  await openSessions(node, 100); // tables and scripts exist
  const before = await probe.bytes(space);
  await openSessions(node, sessions);
  return round((await probe.bytes(space)) / sessions - before / sessions);
}

async function recordSpeeds(run, engine, cluster) {
  const text = "x".repeat(300);
  const writers = [];
  for (let lane = 0; lane < atOnce; lane++) {
    await cluster.logs.create(`log ${lane}`, { keepMs: 60_000, maxEntries: 1_000, maxBytes: 1e6 });
    writers.push({ seq: 0, to: await cluster.logs.claim(`log ${lane}`, "stream") });
  }
  const write = (lane) => cluster.records.put(`record ${lane}`, text, { ttlMs: 60_000 });
  return {
    "write a record": await speedOf(run, engine, write),
    "read a record": await speedOf(run, engine, (lane) => cluster.records.get(`record ${lane}`)),
    "append to a log": await speedOf(run, engine, (lane) => writers[lane].to.append(writers[lane].seq++, text)),
  };
}

async function callSpeeds(run, engine, node) {
  const ask = async () => callModern(node, "ask", answersTo(await callModern(node, "ask")));
  const speeds = { "2026-07-28: call with a question": await speedOf(run, engine, ask) };
  for (const more of [sessions, 3 * sessions]) {
    await openSessions(node, more);
    const title = `handshake, of ${more === sessions ? "1,000" : "4,000"} sessions`;
    speeds[title] = await speedOf(run, engine, () => node.open(), 64);
  }
  return speeds;
}

async function loggedSpeeds(run, engine, node) {
  const open = await Promise.all(Array.from({ length: atOnce }, () => node.open()));
  return { "resumable: call, warm": await speedOf(run, engine, (lane) => open[lane].call(node, "echo")) };
}

/** Repeats some work in lanes, at most so often in a window. Returns its rate, and the CPU time of the engine for each. */
async function speedOf(run, { name, probe }, work, most = Number.POSITIVE_INFINITY) {
  run.progress.step(`${name}, speed`);
  await repeat(work, run.windowMs, most);
  const rates = [];
  const times = [];
  for (let turn = 0; turn < run.rounds; turn++) {
    const before = await probe.cpuMs();
    const { count, ms } = await repeat(work, 2 * run.windowMs, most);
    const after = await probe.cpuMs();
    rates.push((1000 * count) / ms);
    times.push((1000 * (after - before)) / count);
  }
  return { perSecond: spread(rates), engineUs: spread(times) };
}

async function repeat(work, forMs, most) {
  const begun = performance.now();
  let count = 0;
  const lanes = Array.from({ length: atOnce }, async (_, lane) => {
    while (count < most && performance.now() - begun < forMs) {
      count++;
      await work(lane);
    }
  });
  await Promise.all(lanes);
  return { count, ms: performance.now() - begun };
}
