import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Target } from "./driver.js";
import { modeBehind, targetOf } from "./gateways.js";
import type { Sdk } from "./matrix.js";
import { isPeer, peerOf } from "./peers.js";

/** A server to talk to. */
export interface Served {
  readonly target: Target;
  /** Ends what was started for it; throws when something had to be killed or is still there. */
  close(): Promise<void>;
}

/** A supergateway may wait five seconds for its servers. */
const PATIENCE_MS = 6000;
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/**
 * Over stdio the client starts the program itself; over HTTP it is started here and says its address. A mode that names
 * a gateway starts both, or leaves the gateway to the client.
 */
export async function startServer(sdk: Sdk, mode: string): Promise<Served> {
  return startProgram(await commandOf(sdk), mode);
}

/** Starts a program of any kind. `prepare` writes files to the folder that the program gets. */
export async function startProgram(
  command: readonly string[],
  mode: string,
  prepare: (folder: string) => void = () => {},
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "interop-"));
  prepare(folder);
  const program = [...command, modeBehind(mode), folder];
  const stops: (() => Promise<void>)[] = [() => checkGone(folder)];
  const start = async (command: readonly string[]) => {
    const { url, stop } = await startProcess(command);
    stops.unshift(stop);
    return url;
  };
  const close = async () => {
    const ends = await inTurn(stops);
    rmSync(folder, { recursive: true, force: true });
    for (const end of ends) if (end !== undefined) throw end;
  };
  try {
    return { target: await targetOf(mode, program, folder, start), close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Each in its turn, whatever became of the ones before; gives what they threw. */
async function inTurn(stops: readonly (() => Promise<void>)[]): Promise<unknown[]> {
  const thrown: unknown[] = [];
  for (const stop of stops) thrown.push(await stop().catch((error: unknown) => error));
  return thrown;
}

async function commandOf(sdk: Sdk): Promise<readonly string[]> {
  if (isPeer(sdk)) return (await peerOf(sdk)).serve;
  return [process.execPath, here(`./servers/${sdk}.js`)];
}

/** A process that says its address, and ends with its input. What it says of errors is ours to see by the checks. */
async function startProcess(command: readonly string[]): Promise<{ url: string; stop: () => Promise<void> }> {
  const [file, ...args] = command as [string, ...string[]];
  const child = spawn(file, args, { stdio: ["pipe", "pipe", "ignore"] });
  const exited = once(child, "exit");
  const stop = async () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    await exited;
    clearTimeout(timer);
    if (child.signalCode === "SIGKILL") throw new Error(`${command.join(" ")} did not end when it was told to`);
  };
  for await (const url of createInterface(child.stdout)) {
    child.stdout.resume();
    return { url, stop };
  }
  throw new Error(`${command.join(" ")} ended before it said its address`);
}

/** Every process of a server notes itself in the folder; none may outlive its client. */
async function checkGone(folder: string): Promise<void> {
  const pidOf = (name: string) => Number(name.slice("process ".length));
  const left = () => readdirSync(folder).filter((name) => name.startsWith("process ") && isAlive(pidOf(name)));
  const end = performance.now() + PATIENCE_MS;
  while (left().length > 0 && performance.now() < end) await sleep(20);
  const found = left();
  for (const name of found) process.kill(pidOf(name), "SIGKILL");
  if (found.length > 0) throw new Error(`left behind: ${found.join(", ")}`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
