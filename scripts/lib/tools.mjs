import { rmSync } from "node:fs";
import { join, relative } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { stagePackage } from "../package.mjs";
import { execTool, execTsc, lines } from "./exec.mjs";
import { withTarball } from "./pack.mjs";
import { at, filesBelow, readJson, root } from "./project.mjs";

/** Runs Biome, the formatter and linter. Warnings count as errors. */
export const format = {
  name: "format, lint",
  async run() {
    const { code, output } = await execTool("@biomejs/biome/bin/biome", ["ci", "--error-on-warnings", "--colors=off"]);
    return { problems: code === 0 ? [] : lines(output), note: output.match(/Checked \d+ files/)?.[0] };
  },
};

/** Folders of sources, and the folder with the outputs of each. */
const projects = {
  src: "dist",
  test: "build/test",
  "conformance/src": "conformance/dist",
  interop: "interop/dist",
  examples: "examples/dist",
  runtimes: "runtimes/dist",
};
const infos = ["src", "page", "test"].map((name) => `build/${name}.tsbuildinfo`);

/** Builds all sources. Leaves no output of a deleted source, which would be tested and packed. */
export const types = {
  name: "types",
  async run() {
    for (const file of compareOutputs(root).strays) rmSync(file);
    let { code, output } = await execTsc(["-b"]);
    // The compiler does not notice that somebody deleted an output.
    if (code === 0 && compareOutputs(root).missing.length > 0) {
      for (const path of [...Object.values(projects), ...infos]) rmSync(at(path), { recursive: true, force: true });
      ({ code, output } = await execTsc(["-b"]));
    }
    return { problems: code === 0 ? [] : lines(output), note: `${compareOutputs(root).sources} files` };
  },
};

/** Compares the outputs of the compiler in a project with the sources: `{ sources, strays, missing }`. */
export function compareOutputs(base) {
  const wanted = new Set();
  for (const [folder, output] of Object.entries(projects))
    for (const file of filesBelow(join(base, folder), ".ts", ".tsx").map((path) => relative(join(base, folder), path)))
      if (!/^(dist|cache)[\\/]|\.d\.ts$/.test(file)) wanted.add(join(base, output, file.replace(/\.tsx?$/, "")));
  // The page of the inspector is bundled, not compiled.
  const page = join(base, "dist/cli/page");
  const found = Object.values(projects)
    .flatMap((output) => filesBelow(join(base, output), ".js", ".d.ts", ".js.map"))
    .filter((file) => !file.startsWith(page));
  const stem = (file) => file.replace(/\.(js|d\.ts|js\.map)$/, "");
  const present = new Set(found.filter((file) => file.endsWith(".js")).map(stem));
  return {
    sources: wanted.size,
    strays: found.filter((file) => !wanted.has(stem(file))),
    missing: [...wanted].filter((file) => !present.has(file)),
  };
}

/** Files that publint takes for tests of the package: the templates of `bowline init` have tests of their own. */
const isOfTemplates = ({ code, args }) =>
  code === "USE_FILES" && args.internalFilePaths.every((file) => file.startsWith("/templates/"));

/** Runs publint on the staged package. Suggestions count too. */
export const packageLint = {
  name: "publint",
  async run() {
    const pkgDir = await stagePackage();
    const { messages } = await publint({ pkgDir, strict: true });
    const manifest = readJson(join(pkgDir, "package.json"));
    const found = messages.filter((message) => !isOfTemplates(message));
    return { problems: found.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code) };
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
