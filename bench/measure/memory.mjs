import { on, peers } from "../adapters/peers.mjs";
import { round, spread } from "../lib/stats.mjs";
import { openSessions } from "./scale.mjs";
import { rawSubject, withSubjects } from "./subjects.mjs";

const sessions = 1000;
const kilobyte = 1024;
const megabyte = 1_048_576;

/**
 * Measures the resident memory of an open session in new processes: `{ peer: { rssKb, heapKb, perSecond } }`. A server
 * first responds to some thousand calls, so that memory that it needs anyway does not count for its sessions.
 */
export async function measureSessionMemory(run) {
  const wire = "http legacy sse";
  const result = {};
  const chosen = on(wire).filter((peer) => peer !== "bare" && peers[peer].native === undefined);
  for (const peer of run.narrow ? ["bowline"] : chosen) {
    const samples = [];
    for (let round = 0; round < (run.short ? 1 : 3); round++) {
      run.progress.step(`${peer}, ${sessions} sessions`);
      samples.push(
        await withSubjects([() => rawSubject(peer, wire)], ([subject]) => sampleSessions(subject, wire, peer)),
      );
    }
    const of = (key) => spread(samples.map((sample) => sample[key]));
    result[peer] = { rssKb: of("rssKb"), heapKb: of("heapKb"), perSecond: of("perSecond") };
  }
  return result;
}

/** Opens sessions at a warm server. Returns the memory of each, and the number that was opened in a second. */
export async function sampleSessions(subject, wire, peer) {
  await subject.run("echo", { concurrency: 16, ms: 5000, most: 4000 });
  await openSessions(subject.port, wire, peer, 100);
  const before = await subject.child.ask("settled");
  const ms = await openSessions(subject.port, wire, peer, sessions);
  const after = await subject.child.ask("settled");
  return {
    rssKb: (after.rss - before.rss) / kilobyte / sessions,
    heapKb: (after.heap - before.heap) / kilobyte / sessions,
    perSecond: (sessions / ms) * 1000,
  };
}

/**
 * Measures the memory that many calls leave behind: `{ wire: { peer: { calls, rssMb, heapBytesPerCall } } }`. Slow
 * peers make fewer calls.
 */
export async function measureCallMemory(run) {
  const [most, ms] = run.short ? [20_000, 4000] : [100_000, 15_000];
  const result = {};
  for (const wire of run.short ? ["http modern"] : ["http modern", "http legacy json", "stdio legacy"]) {
    result[wire] = {};
    const chosen = on(wire).filter((peer) => peers[peer].native === undefined);
    for (const peer of run.short ? ["bowline"] : chosen) {
      run.progress.step(`${peer}, ${wire}, ${most} calls`);
      const start = () => rawSubject(peer, wire);
      result[wire][peer] = await withSubjects([start], async ([subject]) => {
        await subject.run("echo", { concurrency: 16, ms, most: most / 20 });
        const before = await subject.child.ask("settled");
        const { calls } = await subject.run("echo", { concurrency: 16, ms, most });
        const after = await subject.child.ask("settled");
        return {
          calls,
          rssMb: { before: round(before.rss / megabyte), after: round(after.rss / megabyte) },
          heapBytesPerCall: Math.round((after.heap - before.heap) / calls),
        };
      });
    }
  }
  return result;
}
