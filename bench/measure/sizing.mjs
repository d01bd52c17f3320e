import { randomUUID } from "node:crypto";
import { engineProbes } from "../lib/engine-probes.mjs";
import { withEngine } from "../lib/engines.mjs";
import { answersTo, callModern } from "../lib/modern-calls.mjs";
import { Node, openCluster } from "../lib/nodes.mjs";
import { round, spread } from "../lib/stats.mjs";

const sessions = 1000;
const manySessions = 10_000;
const atOnce = 32;
/** Time in which the commands of idle sessions are counted. */
const idleMs = 20_000;
/** Index of the sessions of all nodes, by the time at which they would end. */
const sessionIndex = "sessions";
/** Handshakes leave more sessions than a server keeps by default. */
const limits = { maxSessions: 1_000_000 };

/**
 * Measures what an engine keeps and carries: `{ engine: { bytes: { kind }, speed: { operation: { perSecond, engineUs } }, many } }`.
 * `bytes` is for each of a thousand idle sessions. `engineUs` is the CPU time of the engine for each operation; for SQLite
 * it is that of the whole process. `many` has figures of an engine with 10,000 sessions that can be resumed.
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
  const many = await withNode(engine, true, (node, space) => manyOf(run, engine, node, space));
  return { bytes, speed, many };
}

/** Opens 10,000 sessions at one node, and looks at what depends on their number. Times are those of one process that waits. */
async function manyOf(run, engine, node, space) {
  run.progress.step(`${engine.name}, ${manySessions} sessions`);
  const before = await engine.probe.bytes(space);
  const opened = performance.now();
  await openSessions(node, manySessions);
  const openedMs = performance.now() - opened;
  const { cluster } = node;
  const megabytes = ((await engine.probe.bytes(space)) - before) / 1e6;
  const handshake = await timesOf(run.rounds * 20, () => node.open());
  const [sentBefore, cpuBefore] = [node.sent, await engine.probe.cpuMs()];
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const idle = [node.sent - sentBefore, (await engine.probe.cpuMs()) - cpuBefore].map(
    (value) => value / (idleMs / 1000),
  );
  const listOpen = await timesOf(run.rounds, async () => {
    let streams = 0;
    for await (const _ of cluster.logs.openOf(cluster.node)) streams++;
    if (streams < manySessions) throw new Error(`${streams} streams are open, of ${manySessions} sessions`);
  });
  const sweep = await timesOf(run.rounds * 5, () => cluster.records.list(sessionIndex, { limit: 100 }));
  const ending = await Promise.all(Array.from({ length: 200 }, () => node.open()));
  const end = await timesOf(ending.length, () => ending.pop().end(node));
  return {
    sessions: manySessions,
    megabytes: round(megabytes),
    openedPerSecond: round((1000 * manySessions) / openedMs),
    handshakeMs: spread(handshake),
    idleCommandsPerSecond: round(idle[0]),
    idleEngineMsPerSecond: round(idle[1]),
    listOpenMs: spread(listOpen),
    sweepMs: spread(sweep),
    endMs: spread(end),
  };
}

/** Repeats some work, one after the other. Returns the milliseconds of each. */
async function timesOf(count, work) {
  const times = [];
  for (let turn = 0; turn < count; turn++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times;
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
