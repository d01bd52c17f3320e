import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Target } from "./driver.js";
import { programOf } from "./fetched.js";
import type { Sdk } from "./matrix.js";
import { pathOf, preparePython } from "./python.js";

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
  const folder = mkdtempSync(join(tmpdir(), "interop-"));
  const program = [...(await commandOf(sdk)), directModeOf(mode), folder];
  const stops: (() => Promise<void>)[] = [() => checkGone(folder)];
  const start = async (command: readonly string[]) => {
    const { url, stop } = await startProcess(command);
    stops.unshift(stop);
    return url;
  };
  const close = async () => {
    try {
      for (const stop of stops) await stop();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  try {
    return { target: await targetOf(mode, program, folder, start), close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

type Start = (command: readonly string[]) => Promise<string>;

async function commandOf(sdk: Sdk): Promise<readonly string[]> {
  if (sdk === "python") return [await preparePython(), pathOf("python/server.py")];
  return [process.execPath, here(`./servers/${sdk}.js`)];
}

/** What the server behind a gateway is started as. */
function directModeOf(mode: string): string {
  const [gateway, kind] = mode.split(":");
  if (gateway === "mcp-remote") return kind ?? "http";
  return gateway === "supergateway" ? (kind === "stdio" ? "http" : "stdio") : mode;
}

async function targetOf(mode: string, program: readonly string[], folder: string, start: Start): Promise<Target> {
  const [gateway, output] = mode.split(":");
  if (gateway === "mcp-remote") {
    const { file } = await programOf("mcp-remote");
    const bridge = output === "newest" ? ["--protocol", "auto"] : [];
    const args = [file, await start(program), "--allow-http", "--silent", ...bridge];
    return { wire: "stdio", command: process.execPath, args, env: { MCP_REMOTE_CONFIG_DIR: folder } };
  }
  if (gateway === "supergateway") return behindSupergateway(output as string, program, start);
  if (mode === "stdio") return { wire: "stdio", command: program[0] as string, args: program.slice(1) };
  return { wire: "http", url: await start(program) };
}

async function behindSupergateway(output: string, program: readonly string[], start: Start): Promise<Target> {
  const { file } = await programOf("supergateway");
  if (output === "stdio") {
    const args = [file, "--streamableHttp", await start(program), "--logLevel", "none"];
    return { wire: "stdio", command: process.execPath, args };
  }
  const line = program.map((word) => JSON.stringify(word)).join(" ");
  const form = output === "sse" ? ["sse"] : ["streamableHttp", ...(output === "sessions" ? ["--stateful"] : [])];
  const options = [
    "--port",
    "0",
    "--logLevel",
    "none",
    "--protocolVersion",
    "2025-11-25",
    "--outputTransport",
    ...form,
  ];
  const origin = await start([
    process.execPath,
    "--import",
    new URL("./loopback.js", import.meta.url).href,
    file,
    "--stdio",
    line,
    ...options,
  ]);
  return { wire: "http", url: `${origin}/${output === "sse" ? "sse" : "mcp"}` };
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
  const left = () =>
    readdirSync(folder).filter((name) => name.startsWith("process ") && isAlive(Number(name.slice(8))));
  const end = performance.now() + PATIENCE_MS;
  while (left().length > 0 && performance.now() < end) await sleep(20);
  const found = left();
  if (found.length > 0) throw new Error(`left behind: ${found.join(", ")}`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
