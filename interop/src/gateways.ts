import { fileURLToPath } from "node:url";
import type { Target } from "./driver.js";
import { programOf } from "./fetched.js";

/** Program that puts nginx before two nodes. */
const BALANCE = fileURLToPath(new URL("./servers/balance.js", import.meta.url));

type Start = (command: readonly string[]) => Promise<string>;

/** Returns the mode of the server behind a gateway. */
export function modeBehind(mode: string): string {
  const [gateway, kind] = mode.split(":");
  if (gateway === "mcp-remote") return kind ?? "http";
  if (gateway === "nginx") return kind ?? "";
  return gateway === "supergateway" ? (kind === "stdio" ? "http" : "stdio") : mode;
}

/** Returns the target for a client. `program` is the server's command; `start` runs a command and returns its address. */
export async function targetOf(
  mode: string,
  program: readonly string[],
  folder: string,
  start: Start,
): Promise<Target> {
  const [gateway, output] = mode.split(":");
  if (gateway === "mcp-remote") {
    const { file } = await programOf("mcp-remote");
    const bridge = output === "newest" ? ["--protocol", "auto"] : [];
    const args = [file, await start(program), "--allow-http", "--silent", ...bridge];
    return { wire: "stdio", command: process.execPath, args, env: { MCP_REMOTE_CONFIG_DIR: folder } };
  }
  if (gateway === "nginx") {
    const nodes = [await start(program), await start(program)];
    return { wire: "http", url: await start([process.execPath, BALANCE, ...nodes]) };
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
  const form = output === "sse" ? "sse" : output === "sessions" ? "streamableHttp --stateful" : "streamableHttp";
  const options = `--port 0 --logLevel none --protocolVersion 2025-11-25 --outputTransport ${form}`.split(" ");
  const loopback = new URL("./loopback.js", import.meta.url).href;
  const origin = await start([process.execPath, "--import", loopback, file, "--stdio", line, ...options]);
  return { wire: "http", url: `${origin}/${output === "sse" ? "sse" : "mcp"}` };
}
