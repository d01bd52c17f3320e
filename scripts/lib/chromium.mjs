import { existsSync } from "node:fs";
import { onPath } from "./engines.mjs";

/** The browser of suites that need one. It is a program of this machine; none is downloaded. */
export const chromium = {
  programs: ["chromium", "chromium-browser", "google-chrome"],
  variable: "CHROMIUM",
  debian: "chromium",
};

/** Returns the path of the browser: the one in its variable, or else a program of PATH. Throws with the remedies. */
export function findChromium(env = process.env) {
  const { programs, variable, debian } = chromium;
  const named = env[variable];
  if (named && !existsSync(named)) throw new Error(`${variable} is ${named}, which does not exist`);
  const found = named || onPath(programs, env);
  if (found !== undefined) return found;
  const install = `install it (Debian: apt-get install ${debian}, or --install as root)`;
  throw new Error(`${programs.join(", ")} were not found; ${install}, or set ${variable} to its path`);
}

/**
 * Starts the browser without a window, with options of Playwright. `close` of the browser ends its processes and removes
 * its files.
 */
export async function openChromium(program = findChromium(), options = {}) {
  const { chromium: driver } = await import("playwright-core");
  return await driver.launch({ executablePath: program, ...options });
}
