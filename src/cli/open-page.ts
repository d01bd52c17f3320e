import type { CommandContext } from "./context.js";
import { visibleLine } from "./text.js";

/** Opens a page by the system. Tells the user if that fails. */
export async function openPage(
  url: URL,
  { io, screen }: CommandContext,
  otherwise = `Open this page: ${visibleLine(url.href)}`,
): Promise<void> {
  const [{ spawn }, { planBrowser }] = await Promise.all([import("node:child_process"), import("../node/loopback.js")]);
  const [command, args] = planBrowser(url, io.platform);
  const child = spawn(command, args, { stdio: "ignore", detached: true, env: { ...io.env } });
  child.once("error", () => screen.error(otherwise));
  child.once("exit", (code) => code !== 0 && screen.error(otherwise));
  child.unref();
}
