import { existsSync, statSync } from "node:fs";
import { execNpm, lines } from "../scripts/lib/exec.mjs";
import { at } from "../scripts/lib/project.mjs";

/**
 * Installs the peers on the first run, and again when the lock file is newer. Bowline itself is not among them: it is
 * found as the project's own link in the folder above, the built tree.
 */
export async function install() {
  const installed = at("bench/node_modules/.package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(at("bench/package-lock.json")).mtimeMs) return;
  console.error("installing the peers into bench/node_modules (once)");
  const { code, output } = await execNpm(["ci", "--ignore-scripts", "--loglevel=error"], { cwd: at("bench") });
  if (code === 0) return;
  const reason = lines(output).find((line) => /npm error/.test(line)) ?? `npm ended with ${code}`;
  console.error(`the peers could not be installed, which takes a network once: ${reason}`);
  process.exit(2);
}
