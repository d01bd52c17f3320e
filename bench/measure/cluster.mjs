import { withEngine } from "../lib/engines.mjs";
import { spread } from "../lib/stats.mjs";
import { sampleSessions } from "./memory.mjs";
import { measure } from "./rounds.mjs";
import { rawSubject, withSubjects } from "./subjects.mjs";

/** Server whose sessions stay in its process. */
const alone = "without";
/** A node reads the records again after a pause, so that short windows would show the first calls above all. */
const plan = (run) => [{ call: "echo", concurrency: 128, ms: 2 * run.windowMs }];

/**
 * Measures what a cluster costs a server of sessions: `{ calls: { wire: { subject: figures } }, sessions: { subject } }`.
 * `ofFloor` compares with the same server without a cluster. Each of the connections has a session of its own.
 */
export async function measureCluster(run) {
  return withEngine(run, "redis", async (url) => {
    const subjects = { [alone]: {}, redis: { BENCH_CLUSTER: url } };
    const calls = {};
    for (const wire of ["http legacy json", "http legacy sse"]) {
      const starts = Object.entries(subjects).map(
        ([name, env]) =>
          () =>
            rawSubject("bowline", wire, { name, env }),
      );
      calls[wire] = await withSubjects(starts, async (all) => {
        await warmUp(run, all);
        return measure(run, all, plan(run), alone);
      });
    }
    const sessions = {};
    for (const [name, env] of Object.entries(subjects)) sessions[name] = await measureSessions(run, name, env);
    return { calls, sessions };
  });
}

/** Code that serves a session in two ways, from memory and after a read, is compiled later than code with one way. */
async function warmUp(run, subjects) {
  for (const subject of subjects) {
    run.progress.step(`warming up ${subject.name} in all sessions`);
    await subject.run("echo", { concurrency: 128, ms: 3 * run.warmUp.ms });
  }
}

/** Measures the heap of a session in the process that opened it. */
async function measureSessions(run, name, env) {
  const wire = "http legacy sse";
  const samples = [];
  for (let round = 0; round < (run.short ? 1 : 3); round++) {
    run.progress.step(`${name}, 1000 sessions`);
    const start = () => rawSubject("bowline", wire, { env });
    samples.push(await withSubjects([start], ([subject]) => sampleSessions(subject, wire, "bowline")));
  }
  return { heapKb: spread(samples.map(({ heapKb }) => heapKb)) };
}
