import cluster from "node:cluster";
import { serveHttp } from "bowline/node";
import { createServer } from "../adapters/bowline/server.mjs";
import { cpuMsOf } from "../lib/cpu.mjs";
import { wires } from "../workload/wires.mjs";
import { answer } from "./answer.mjs";

/** Bowline's server in one process or on several workers: `node workers.mjs <wire> <workers>`, 0 for one process. */
const [, , wire, workers] = process.argv;

const serve = () => serveHttp(createServer(wires[wire]), workers === "0" ? {} : { workers: Number(workers) });

/** Returns the CPU time of all processes. */
function cpuMs() {
  const pids = [process.pid, ...Object.values(cluster.workers ?? {}).map((worker) => worker.process.pid)];
  return pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
}

if (cluster.isPrimary) await answer(async () => ({ port: (await serve()).port }), { cpuMs });
else await serve();
