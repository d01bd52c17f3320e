import { fileURLToPath } from "node:url";
import { peers } from "../adapters/peers.mjs";
import { Child } from "../lib/child.mjs";
import { canPin, cores } from "../lib/pin.mjs";
import { HttpLoad } from "../load/http-load.mjs";
import { PipeLoad } from "../load/pipe-load.mjs";
import { wires } from "../workload/wires.mjs";

/**
 * A subject runs the workload: `{ name, can, run, check, cpuMs, stop }`, and `child`, the process that is measured.
 * `run(call, { concurrency, ms, most })` makes load. `cpuMs()` returns the CPU time of the measured process.
 */

/** Starts a peer's server in its own process, with sessions or without. The load is generated in this process. */
export async function rawSubject(peer, wire, { name = peer, sessions = true, env, folder } = {}) {
  const stdio = wires[wire].transport === "stdio";
  const args = [peer, wire, ...(sessions ? [] : ["no-sessions"])];
  const child = new Child("server", args, { core: cores.measured, env, pipes: stdio, folder });
  const { port } = await child.ready;
  const load = stdio
    ? new PipeLoad(child.pipes, wires[wire])
    : new HttpLoad(port, { ...wires[wire], sessions }, peers[peer].facts ?? {});
  await load.open?.();
  return {
    name,
    child,
    load,
    port,
    can: peers[peer].can ?? ["echo", "list", "read1k", "read1m", ...(wires[wire].json ? [] : ["progress"])],
    run: (call, options) => load.run(call, options),
    check: (call) => load.check(call),
    cpuMs: () => child.ask("cpuMs"),
    async stop() {
      load.close();
      await child.stop();
    },
  };
}

/** Starts a peer's own client in its own process, with its server in the same process or with another peer's. */
export async function clientSubject(peer, wire, { name = peer, server, folder } = {}) {
  const target = targetOf(peer, wire, server);
  const args = [peer, wire, ...(target === undefined ? [] : [JSON.stringify(target)])];
  const core = target === undefined ? cores.measured : cores.load;
  const child = new Child("client", args, { core, folder });
  const { can } = await child.ready;
  return {
    name,
    child,
    can,
    run: (call, options) => child.ask("run", call, options),
    check: (call) => child.ask("check", call),
    cpuMs: () => child.ask("cpuMs"),
    async stop() {
      await child.stop();
      await server?.stop();
    },
  };
}

function targetOf(peer, wire, server) {
  const { transport } = wires[wire];
  if (transport === "memory") return undefined;
  if (transport === "http") return { url: `http://127.0.0.1:${server.port}/mcp` };
  const host = [process.execPath, fileURLToPath(new URL("../hosts/stdio.mjs", import.meta.url)), peer, wire];
  const [command, ...args] = canPin ? ["taskset", "-c", String(cores.measured), ...host] : host;
  return { command, args };
}

/** Starts subjects one after another, and stops all of them in the end. */
export async function withSubjects(starts, use) {
  const subjects = [];
  try {
    for (const start of starts) subjects.push(await start());
    return await use(subjects);
  } finally {
    await Promise.all(subjects.map((subject) => subject.stop()));
  }
}
