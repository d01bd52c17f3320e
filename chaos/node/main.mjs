import { serveHttp } from "bowline/node";
import { Truth } from "../truth.mjs";
import { createServer } from "./app.mjs";
import { live } from "./life.mjs";
import { observe } from "./observed.mjs";

/** Program of a node. CHAOS_NODE has its settings. It ends with the process that started it. */
const { name, port, engine, address, file, stateKey, seed, broken } = JSON.parse(process.env.CHAOS_NODE);

process.on("disconnect", () => process.exit());
const truth = new Truth(file, name);
const { connectNode } = await import(`../engines/${engine}.mjs`);
const cluster = observe(await connectNode(address), { truth, broken });
const onError = (error, { where }) => process.send?.({ kind: "error", text: `${where}: ${error}` });
const stateKeys = [{ id: "k", secret: Buffer.from(stateKey, "base64") }];
const server = createServer({ cluster, stateKeys, truth, onError });
const { server: http } = await serveHttp(server, { port });
const calm = live({ http, server, name, truth, seed });
process.on("message", (kind) => {
  if (kind === "calm") calm();
});
process.send?.({ kind: "ready" });
