import { serveHttp } from "bowline/node";
import { Truth } from "../truth.mjs";
import { createServer } from "./app.mjs";

/** Program of a worker. CHAOS_NODE has its settings. It ends with the process that started it. */
const { name, port, engine, address, file } = JSON.parse(process.env.CHAOS_NODE);

process.on("disconnect", () => process.exit());
const { connectNode } = await import(`../engines/${engine}.mjs`);
const cluster = await connectNode(address);
const onError = (error, { where }) => process.send?.({ kind: "error", text: `${where}: ${error}` });
await serveHttp(createServer({ cluster, truth: new Truth(file, name), onError }), { port });
process.send?.({ kind: "ready" });
