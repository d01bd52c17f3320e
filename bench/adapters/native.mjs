import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { cpuMsOf } from "../lib/cpu.mjs";
import { canPin, cores, pin } from "../lib/pin.mjs";

/**
 * Starts a server that is a program of another language, on the core of the measured process. It prints its port, and
 * ends with its input. Returns the port, and the CPU time of the program.
 */
export async function startNative(program, wire, env = {}) {
  const form = wire.json || wire.modern ? "json" : "events";
  const sessions = wire.sessions && !wire.modern ? "sessions" : "no-sessions";
  const child = spawn(program, [form, sessions], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (canPin) pin(child.pid, cores.measured);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { port: Number(line), cpuMs: () => cpuMsOf(child.pid) };
}
