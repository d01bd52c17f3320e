import { spawn } from "node:child_process";
import { planBrowser } from "../node/loopback.js";
import type { CommandContext } from "./context.js";

/** Opens a page by the system. Tells the user if that fails. */
export function openPage(url: URL, { io, screen }: CommandContext, otherwise: string): void {
  const [command, args] = planBrowser(url, io.platform);
  const child = spawn(command, args, { stdio: "ignore", detached: true, env: { ...io.env } });
  child.once("error", () => screen.error(otherwise));
  child.unref();
}
