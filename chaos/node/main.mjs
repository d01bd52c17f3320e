import { serveHttp } from "bowline/node";
import { Random } from "../../scripts/oracle/corpus/random.mjs";
import { Truth } from "../truth.mjs";
import { createServer } from "./app.mjs";
import { Cuts } from "./cuts.mjs";
import { observe } from "./observed.mjs";
import { withoutFence } from "./unfenced.mjs";

/** Program of a node. CHAOS_NODE has its settings. It ends with the process that started it. */
const { name, port, engine, address, file, stateKey, seed, broken } = JSON.parse(process.env.CHAOS_NODE);

/** Time between two numbered messages to all sessions. */
const TELL_MS = 500;
/** Time in which a node joins the others. */
const JOIN_MS = 1_000;

process.on("disconnect", () => process.exit());
const truth = new Truth(file, name);
const { connectNode } = await import(`../engines/${engine}.mjs`);
const cluster = await connectNode(address);
const observed = observe(broken === "fence" ? withoutFence(cluster) : cluster, truth);
const onError = (error, { where }) => process.send?.({ kind: "error", text: `${where}: ${error}` });
const server = createServer({ cluster: observed, truth, stateKey, onError });
const cuts = new Cuts(new Random(seed));
const { server: http } = await serveHttp(server, { port });
http.prependListener("request", (request, response) => cuts.consider(request, response));

// A server joins the others with its first request.
let telling;
http.once("request", () => {
  telling = setTimeout(tell, JOIN_MS);
});
let number = 0;
process.on("message", (kind) => {
  if (kind !== "calm") return;
  cuts.end();
  clearTimeout(telling);
});
truth.write("start");
process.send?.({ kind: "ready" });

function tell() {
  truth.write("tell", ++number);
  server.log("info", { from: name, number });
  telling = setTimeout(tell, TELL_MS);
}
