import { rmSync } from "node:fs";
import { alone } from "./lib/check.mjs";
import { execTsc, lines } from "./lib/exec.mjs";
import { at, filesBelow } from "./lib/project.mjs";

const outputs = ["dist", "build/test", "conformance/dist", "interop/dist", "examples/dist", "runtimes/dist"];
const infos = ["build/src.tsbuildinfo", "build/test.tsbuildinfo"];

/** Builds everything from nothing, so that no file of a deleted source is left to be tested or packed. */
export const types = {
  name: "types",
  async run() {
    for (const path of [...outputs, ...infos]) rmSync(at(path), { recursive: true, force: true });
    const { code, output } = await execTsc(["-b"]);
    const sources = ["src", "test", "conformance", "interop", "examples", "runtimes"];
    const count = sources.flatMap((folder) => filesBelow(at(folder), ".ts")).filter(isSource).length;
    return { problems: code === 0 ? [] : lines(output), note: `${count} files` };
  },
};

const isSource = (file) => !file.endsWith(".d.ts");

await alone(import.meta.url, types);
