import { rmSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { stagePackage } from "../package.mjs";
import { execTool, execTsc, lines } from "./exec.mjs";
import { withTarball } from "./pack.mjs";
import { at, filesBelow, readJson } from "./project.mjs";

/** Runs Biome, the formatter and linter. Warnings count as errors. */
export const format = {
  name: "format, lint",
  async run() {
    const { code, output } = await execTool("@biomejs/biome/bin/biome", ["ci", "--error-on-warnings", "--colors=off"]);
    return { problems: code === 0 ? [] : lines(output), note: output.match(/Checked \d+ files/)?.[0] };
  },
};

const sources = ["src", "test", "conformance", "interop", "examples", "runtimes"];
const outputs = ["dist", "build/test", ...sources.slice(2).map((workspace) => `${workspace}/dist`)];
const infos = ["build/src.tsbuildinfo", "build/test.tsbuildinfo"];

/** Builds everything from scratch, so that no output of a deleted source is tested or packed. */
export const types = {
  name: "types",
  async run() {
    for (const path of [...outputs, ...infos]) rmSync(at(path), { recursive: true, force: true });
    const { code, output } = await execTsc(["-b"]);
    const files = sources.flatMap((folder) => filesBelow(at(folder), ".ts")).filter((file) => !file.endsWith(".d.ts"));
    return { problems: code === 0 ? [] : lines(output), note: `${files.length} files` };
  },
};

/** Runs publint on the staged package. Suggestions count too. */
export const packageLint = {
  name: "publint",
  async run() {
    const pkgDir = await stagePackage();
    const { messages } = await publint({ pkgDir, strict: true });
    const manifest = readJson(join(pkgDir, "package.json"));
    return { problems: messages.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code) };
  },
};

/** Checks that the types of the packed package resolve for every kind of importer that an ESM-only package supports. */
export const resolvedTypes = {
  name: "attw",
  run: () =>
    withTarball(async ({ tarball }) => {
      const args = [tarball, "--profile", "esm-only", "--no-color", "--no-emoji", "--format", "ascii"];
      const { code, output } = await execTool("@arethetypeswrong/cli/dist/index.js", args);
      return { problems: code === 0 ? [] : lines(output) };
    }),
};
