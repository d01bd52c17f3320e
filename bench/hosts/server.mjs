import { wires } from "../workload/wires.mjs";
import { answer, cpuMs } from "./answer.mjs";

/** A peer's server in its own process, or in one that it starts: `node server.mjs <peer> <wire>`. */
const [, , peer, wire] = process.argv;
let native;

// Some peers leave rejected promises unhandled when a connection ends. That must not end the run.
process.on("unhandledRejection", (error) => console.error(peer, wire, error));
process.on("uncaughtException", (error) => console.error(peer, wire, error));

await answer(
  async () => {
    const { serveHttp, serveStdio, serveNative } = await import(`../adapters/${peer}/server.mjs`);
    native = await serveNative?.(wires[wire]);
    if (native !== undefined) return { port: native.port };
    if (wires[wire].transport === "stdio") await serveStdio(wires[wire]);
    else return { port: await serveHttp(wires[wire]) };
  },
  { cpuMs: () => native?.cpuMs() ?? cpuMs() },
);
