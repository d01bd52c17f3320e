import { cpus } from "node:os";
import { at, readJson } from "../scripts/lib/project.mjs";
import { peers } from "./adapters/peers.mjs";
import { workingTree } from "./lib/builds.mjs";
import { versionOf } from "./native/build.mjs";

/** Returns the machine, the commit and the versions. The numbers are meaningless without them. */
export async function describeMachine() {
  const versions = {
    bowline: readJson(at("package.json")).version,
    ...readJson(at("bench/package.json")).dependencies,
    ...nativeVersions(),
  };
  return {
    date: new Date().toISOString().slice(0, 10),
    ...(await workingTree()),
    node: process.version,
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    versions,
  };
}

/** Versions of the SDKs of other languages, by the name of the peer. */
function nativeVersions() {
  const natives = Object.entries(peers).filter(([, { native }]) => native !== undefined);
  return Object.fromEntries(natives.map(([name, { native }]) => [name, versionOf(native)]));
}
