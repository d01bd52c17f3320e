import cluster from "node:cluster";
import { serveHttp } from "bowline/node";
import { recordStalls } from "../stalls.mjs";
import { Truth } from "../truth.mjs";
import { createServer } from "./app.mjs";
import { live } from "./life.mjs";
import { observe } from "./observed.mjs";

/**
 * Program of a primary and of its workers. CHAOS_NODE has its settings. The workers are the nodes. The primary passes their
 * messages on to the process that started it, tells it which of them end, and ends with it.
 */
const { name, count, port, file, seed, broken } = JSON.parse(process.env.CHAOS_NODE);

if (cluster.isPrimary) await lead();
else await serve(`${name}w${cluster.worker.id}`, seed + cluster.worker.id);

async function lead() {
  process.on("disconnect", () => process.exit());
  const tell = (message) => process.connected && process.send(message);
  cluster.on("message", (_, message) => {
    if (message.kind !== undefined) tell(message);
  });
  cluster.on("exit", ({ process: { pid } }, code, signal) => tell({ kind: "end", pid, how: `${code ?? signal}` }));
  process.on("message", (message) => {
    for (const worker of Object.values(cluster.workers)) worker.send(message);
  });
  // The primary keeps the state, as an engine does.
  recordStalls(new Truth(file, "engine"));
  await serveHttp(createServer({ truth: new Truth(file, name) }), { port, workers: count });
}

async function serve(node, seed) {
  const truth = new Truth(file, node);
  const onError = (error, { where }) => process.send?.({ kind: "error", text: `${where}: ${error}` });
  const server = createServer({ truth, onError });
  const join = server.join.bind(server);
  server.join = (state, keys) => join(observe(state, { truth, broken }), keys);
  const { server: http } = await serveHttp(server, { port, workers: count });
  // Each request comes by a connection of its own, so that it reaches any worker.
  http.maxRequestsPerSocket = 1;
  const calm = live({ http, server, name: node, truth, seed });
  process.on("message", (kind) => {
    if (kind === "calm") calm();
  });
  process.send({ kind: "ready", name: node, pid: process.pid });
}
