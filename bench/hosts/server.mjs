import { wires } from "../workload/wires.mjs";
import { answer } from "./answer.mjs";

/** `node server.mjs <peer> <wire>`: a peer's server, alone in its process. */
const [, , peer, wire] = process.argv;

// Some peers reject promises that nobody holds when a connection goes away: that is theirs, not the end of the run.
process.on("unhandledRejection", (error) => console.error(peer, wire, error));
process.on("uncaughtException", (error) => console.error(peer, wire, error));

await answer(async () => {
  const { serveHttp, serveStdio } = await import(`../adapters/${peer}/server.mjs`);
  if (wires[wire].transport === "stdio") await serveStdio(wires[wire]);
  else return { port: await serveHttp(wires[wire]) };
});
