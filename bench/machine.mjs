import { cpus } from "node:os";
import { at, readJson } from "../scripts/lib/project.mjs";

/** Returns the machine and the versions. The numbers are meaningless without them. */
export function describeMachine() {
  const versions = {
    bowline: readJson(at("package.json")).version,
    ...readJson(at("bench/package.json")).dependencies,
  };
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? "unknown",
    versions,
  };
}
