import { serveHttp } from "bowline/node";
import { recordStalls } from "../stalls.mjs";
import { Truth } from "../truth.mjs";
import { createServer } from "./app.mjs";

/** Program of a worker. CHAOS_NODE has its settings. It ends with the process that started it. */
const { name, port, engine, address, file, stateKey } = JSON.parse(process.env.CHAOS_NODE);

process.on("disconnect", () => process.exit());
const { connectNode } = await import(`../engines/${engine}.mjs`);
const cluster = await connectNode(address);
const onError = (error, { where }) => process.send?.({ kind: "error", text: `${where}: ${error}` });
const truth = new Truth(file, name);
const stateKeys = [{ id: "k", secret: Buffer.from(stateKey, "base64") }];
await serveHttp(createServer({ cluster, stateKeys, truth, onError }), { port });
recordStalls(truth);
process.send?.({ kind: "ready" });
