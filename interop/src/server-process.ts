import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Target } from "./driver.js";
import type { Sdk } from "./matrix.js";

/** A server to talk to. Closing ends what was started for it. */
export interface Served {
  readonly target: Target;
  close(): Promise<void>;
}

/** Over stdio the client starts the program itself; over HTTP it is started here and says its address. */
export async function startServer(sdk: Sdk, mode: string): Promise<Served> {
  const program = fileURLToPath(new URL(`./servers/${sdk}.js`, import.meta.url));
  if (mode === "stdio") {
    const target: Target = { wire: "stdio", command: process.execPath, args: [program, mode] };
    return { target, close: async () => {} };
  }
  const child = spawn(process.execPath, [program, mode], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const close = async () => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), 2000);
    await exited;
    clearTimeout(timer);
  };
  for await (const url of createInterface(child.stdout)) return { target: { wire: "http", url }, close };
  throw new Error(`the ${sdk} server ended before it said its address`);
}
