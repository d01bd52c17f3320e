import { peers } from "../adapters/peers.mjs";
import { HttpConnection } from "../load/http-connection.mjs";
import { openSession } from "../load/http-load.mjs";
import { wires } from "../workload/wires.mjs";
import { measure } from "./rounds.mjs";
import { rawSubject, withSubjects } from "./subjects.mjs";

/**
 * Measures the cost of an echo call as a server grows: `{ peer: { count: figures } }`. `cpuOfFloor` compares with the
 * smallest server, so 1 means that the cost does not grow.
 */
export async function measureTools(run) {
  const counts = run.narrow ? [1, 1000] : [1, 10, 100, 1000];
  const chosen = run.narrow ? ["bowline"] : ["bowline", "official-v2", "tmcp"];
  return grow(run, chosen, counts, (peer, count) =>
    rawSubject(peer, "http modern", { name: String(count), env: { BENCH_TOOLS: String(count) } }),
  );
}

export async function measureSessions(run) {
  const wire = "http legacy json";
  const start = async (peer, count) => {
    const subject = await rawSubject(peer, wire, { name: String(count) });
    run.progress.step(`${peer}: opening ${count} sessions`);
    await openSessions(subject.port, wire, peer, count - 1);
    return subject;
  };
  const most = run.narrow ? [1, 10_000] : [1, 100, 1000, 10_000];
  const result = await grow(run, ["bowline"], most, start);
  // The other SDKs use a server per session, up to 0.2 MB each.
  if (!run.narrow) Object.assign(result, await grow(run, ["official-v2", "mcp-lite"], [1, 1000], start));
  return result;
}

const warmUp = { calls: 8000, ms: 8000 };

async function grow(run, chosen, counts, start) {
  const plan = [{ call: "echo", concurrency: 16, ms: run.windowMs }];
  const result = {};
  for (const peer of chosen.filter((name) => peers[name] !== undefined)) {
    const starts = counts.map((count) => () => start(peer, count));
    const warm = { ...run, warmUp }; // each server is as warm as the one that opened the most sessions
    const table = await withSubjects(starts, (subjects) => measure(warm, subjects, plan, String(counts[0])));
    result[peer] = Object.fromEntries(Object.entries(table).map(([count, cells]) => [count, cells["echo@16"]]));
  }
  return result;
}

/** Opens sessions over a few connections, then closes the connections; the sessions stay. Returns the time it took. */
export async function openSessions(port, wire, peer, count) {
  const begun = performance.now();
  let left = count;
  const worker = async () => {
    const connection = await new HttpConnection(port).open();
    while (left-- > 0) await openSession(connection, wires[wire], peers[peer].facts ?? {});
    connection.close();
  };
  await Promise.all(Array.from({ length: Math.min(32, count) }, worker));
  return performance.now() - begun;
}
