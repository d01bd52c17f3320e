import { wires } from "../workload/wires.mjs";
import { answer, cpuMs } from "./answer.mjs";

/** A peer's server in its own process, or in one that it starts: `node server.mjs <peer> <wire> [no-sessions]`. */
const [, , peer, wire, mode] = process.argv;
const served = { ...wires[wire], sessions: mode !== "no-sessions" };
let native;

// Some peers leave rejected promises unhandled when a connection ends. That must not end the run.
process.on("unhandledRejection", (error) => console.error(peer, wire, error));
process.on("uncaughtException", (error) => console.error(peer, wire, error));

await answer(
  async () => {
    const { serveHttp, serveStdio, serveNative } = await import(`../adapters/${peer}/server.mjs`);
    native = await serveNative?.(served);
    if (native !== undefined) return { port: native.port };
    if (served.transport === "stdio") await serveStdio(served);
    else return { port: await serveHttp(served) };
  },
  { cpuMs: () => native?.cpuMs() ?? cpuMs() },
);
