import { Child } from "../lib/child.mjs";
import { HttpLoad } from "../load/http-load.mjs";
import { wires } from "../workload/wires.mjs";
import { measure } from "./rounds.mjs";
import { withSubjects } from "./subjects.mjs";

/** Number of workers by the name of a subject. */
const counts = { "one process": 0, "one worker": 1, "two workers": 2 };

const plan = (run) => [{ call: "echo", concurrency: 64, ms: 2 * run.windowMs }];

/**
 * Measures what workers cost: `{ wire: { subject: figures } }`. `cpuOfFloor` compares the CPU time of all processes of a
 * server, per call, with that of a single process. One worker shows what workers cost: it has the same load, and as many busy
 * processes. Two have to share two cores with the generator. No process that is measured is pinned to a core.
 */
export async function measureWorkers(run) {
  const calls = {};
  for (const wire of ["http modern", "http legacy json"]) {
    const starts = Object.keys(counts).map((name) => () => start(name, wire));
    calls[wire] = await withSubjects(starts, (subjects) => measure(run, subjects, plan(run), "one process"));
  }
  return calls;
}

async function start(name, wire) {
  const child = new Child("workers", [wire, String(counts[name])], {});
  const { port } = await child.ready;
  const load = new HttpLoad(port, wires[wire], {});
  return {
    name,
    child,
    can: ["echo"],
    run: (call, options) => load.run(call, options),
    check: (call) => load.check(call),
    cpuMs: () => child.ask("cpuMs"),
    async stop() {
      load.close();
      await child.stop();
    },
  };
}
