import { wires } from "../workload/wires.mjs";

/** `node stdio.mjs <peer> <wire>`: a peer's stdio server, for a client that starts its server itself. */
const [, , peer, wire] = process.argv;
const { serveStdio } = await import(`../adapters/${peer}/server.mjs`);
await serveStdio(wires[wire]);
