import { wires } from "../workload/wires.mjs";
import { answer } from "./answer.mjs";

/** A peer's server in its own process: `node server.mjs <peer> <wire>`. */
const [, , peer, wire] = process.argv;

// Some peers leave rejected promises unhandled when a connection ends. That must not end the run.
process.on("unhandledRejection", (error) => console.error(peer, wire, error));
process.on("uncaughtException", (error) => console.error(peer, wire, error));

await answer(async () => {
  const { serveHttp, serveStdio } = await import(`../adapters/${peer}/server.mjs`);
  if (wires[wire].transport === "stdio") await serveStdio(wires[wire]);
  else return { port: await serveHttp(wires[wire]) };
});
