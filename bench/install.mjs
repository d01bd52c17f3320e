import { existsSync, rmSync, statSync, symlinkSync } from "node:fs";
import { execNpm, lines } from "../scripts/lib/exec.mjs";
import { at } from "../scripts/lib/project.mjs";
import { stagePackage } from "../scripts/package.mjs";
import { peers } from "./adapters/peers.mjs";
import { buildNative } from "./native/build.mjs";

/** Installs and builds the peers, and links the package beside them as users install it. */
export async function install() {
  await installPeers();
  await buildPeers();
  const link = at("bench/node_modules/bowline");
  rmSync(link, { recursive: true, force: true });
  symlinkSync(await stagePackage(), link, "junction");
}

/** Builds the peers of other languages, and leaves out those that cannot be built here. */
async function buildPeers() {
  for (const [name, { native }] of Object.entries(peers)) {
    if (native === undefined) continue;
    const problem = await buildNative(native.folder);
    if (problem === undefined) continue;
    console.error(`${name} is left out, since ${native.tool} cannot build it: ${problem}`);
    delete peers[name];
  }
}

/** Installs on the first run, and again if the lock file is newer. */
async function installPeers() {
  const installed = at("bench/node_modules/.package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(at("bench/package-lock.json")).mtimeMs) return;
  console.error("installing the peers into bench/node_modules (once)");
  const { code, output } = await execNpm(["ci", "--ignore-scripts", "--loglevel=error"], { cwd: at("bench") });
  if (code === 0) return;
  const reason = lines(output).find((line) => /npm error/.test(line)) ?? `npm ended with ${code}`;
  console.error(`the peers could not be installed, which takes a network once: ${reason}`);
  process.exit(2);
}
