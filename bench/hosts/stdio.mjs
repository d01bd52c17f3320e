import { wires } from "../workload/wires.mjs";

/** A peer's stdio server, for clients that start their server: `node stdio.mjs <peer> <wire>`. */
const [, , peer, wire] = process.argv;
const { serveStdio } = await import(`../adapters/${peer}/server.mjs`);
await serveStdio(wires[wire]);
