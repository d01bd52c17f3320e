import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { at, filesBelow } from "../../scripts/lib/project.mjs";
import { findMutants } from "./find.mjs";
import { instrument, placeOf, switchFile, switchModule } from "./instrument.mjs";

/** Copy of the project in which mutants run. */
export const tree = at("build/mutants/tree");

/**
 * Tests that run on mutants, by the start of their paths. The others measure memory and time, or check files of the
 * project. The test of limits compares the constants of the build with the pages.
 */
const suites = ["unit/", "scenarios/", "faults/", "project/limits"];

/** Parts that are copied, since Node follows links to the project's own `dist`. Everything else is linked. */
const copied = ["package.json", "dist", "build", "examples", "node_modules"];

/** Returns every mutant of the build, without its place in the sources. */
export function allMutants() {
  return filesBelow(at("dist"), ".js").flatMap((file) =>
    findMutants(relative(at("dist"), file).split(sep).join("/"), readFileSync(file, "utf8")),
  );
}

/** Makes the copy with these mutants. Returns the mutants with the file and line of their sources. */
export function makeTree(mutants) {
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(join(tree, "build"), { recursive: true });
  for (const name of readdirSync(at())) {
    if (!copied.includes(name) && name !== ".git") symlinkSync(at(name), join(tree, name));
  }
  cpSync(at("package.json"), join(tree, "package.json"));
  cpSync(at("build/test"), join(tree, "build/test"), { recursive: true });
  cpSync(at("dist"), join(tree, "dist"), { recursive: true });
  cpSync(at("examples"), join(tree, "examples"), { recursive: true });
  linkModules();
  writeFileSync(join(tree, "dist", switchFile), switchModule);
  return [...new Set(mutants.map(({ file }) => file))].flatMap((file) => {
    const own = mutants.filter((mutant) => mutant.file === file);
    const code = readFileSync(at("dist", file), "utf8");
    writeFileSync(join(tree, "dist", file), instrument(code, own, file.split("/").length - 1));
    return own.map((mutant) => ({
      ...mutant,
      from: code.slice(mutant.start, mutant.end),
      ...placeOf(mutant, at("dist", file), code),
    }));
  });
}

/** Links the packages, and Bowline itself to the copy. */
function linkModules() {
  mkdirSync(join(tree, "node_modules"));
  for (const name of readdirSync(at("node_modules"))) {
    const target = name === "bowline" ? tree : at("node_modules", name);
    symlinkSync(target, join(tree, "node_modules", name));
  }
}

/** Returns the test files of the copy, each with a digest of everything that its result depends on. */
export function testFiles(mutants) {
  const shared = createHash("sha256").update(mutants.map(({ id }) => id).join(" "));
  for (const file of [...filesBelow(at("dist"), ".js"), ...filesBelow(at("build/test/support"), ".js")]) {
    shared.update(readFileSync(file));
  }
  const base = shared.digest("hex");
  const all = filesBelow(join(tree, "build/test"), ".test.js").map((path) => ({
    path,
    name: relative(tree, path).split(sep).join("/"),
    digest: createHash("sha256").update(base).update(readFileSync(path)).digest("hex"),
  }));
  return all.filter(({ name }) => suites.some((suite) => name.startsWith(`build/test/${suite}`)));
}

export const folderFor = (path) => {
  mkdirSync(dirname(path), { recursive: true });
  return path;
};
