import { measureCalls, measureClients } from "./measure/calls.mjs";
import { measureCancel } from "./measure/cancel.mjs";
import { measureCluster } from "./measure/cluster.mjs";
import { measureCallMemory, measureSessionMemory } from "./measure/memory.mjs";
import { measureRoundTrips } from "./measure/round-trips.mjs";
import { measureSessions, measureTools } from "./measure/scale.mjs";
import { measureSize } from "./measure/size.mjs";
import { measureSizing } from "./measure/sizing.mjs";
import { measureStages } from "./measure/stages.mjs";
import { measureStart } from "./measure/start.mjs";
import { measureTasks } from "./measure/tasks.mjs";
import { measureWorkers } from "./measure/workers.mjs";
import { wires } from "./workload/wires.mjs";

const overHttp = Object.keys(wires).filter((wire) => wires[wire].transport === "http");
const networked = Object.keys(wires).filter((wire) => wires[wire].transport !== "memory");

/**
 * Everything that is measured: a name to choose it by, its place in the document, and its function. A section with
 * `aside` has no target. Sections with `aside` or `long` are left out of the short form.
 */
export const sections = [
  ...Object.keys(wires).map((wire) => ({
    name: wire,
    at: ["calls", wire],
    measure: (run) => measureCalls(run, wire),
  })),
  ...networked.map((wire) => ({
    name: `client ${wire}`,
    at: ["clients", wire],
    measure: (run) => measureClients(run, wire),
    aside: wires[wire].transport === "stdio",
    long: wires[wire].json === true,
  })),
  { name: "tools", at: ["scale", "tools"], measure: measureTools },
  { name: "sessions", at: ["scale", "sessions"], measure: measureSessions },
  { name: "memory of sessions", at: ["memory", "sessions"], measure: measureSessionMemory },
  { name: "memory of calls", at: ["memory", "calls"], measure: measureCallMemory, aside: true },
  { name: "cancel", at: ["cancel"], measure: measureCancel },
  { name: "cluster", at: ["cluster"], measure: measureCluster, long: true },
  { name: "round trips of a cluster", at: ["roundTrips"], measure: measureRoundTrips, aside: true },
  { name: "sizing of a cluster", at: ["sizing"], measure: measureSizing, aside: true },
  { name: "workers", at: ["workers"], measure: measureWorkers, long: true },
  { name: "tasks", at: ["tasks"], measure: measureTasks, long: true },
  ...overHttp.map((wire) => ({
    name: `stages ${wire}`,
    at: ["stages", wire],
    measure: (run) => measureStages(run, wire),
    aside: true,
  })),
  { name: "start", at: ["start"], measure: measureStart },
  { name: "size", at: ["size"], measure: measureSize },
];
