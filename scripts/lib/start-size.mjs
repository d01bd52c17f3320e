import { gzipSync } from "node:zlib";

/** Matches imports and exports between the files of a bundle. */
const BETWEEN_FILES = /import\{[^{}]*\}from"\.\/chunk-\w+\.js";|export\{[^{}]*\};\s*$/g;

/**
 * Returns the gzipped size of the code that a bundle of esbuild loads at start. `isEntry` identifies the output that is
 * loaded first. Code behind dynamic imports does not count. All files are gzipped as one: bundlers differ in how many
 * files they make, and esbuild makes about thirty. The imports between them are left out.
 */
export function startSize({ outputFiles, metafile }, isEntry) {
  const { outputs } = metafile;
  const loaded = new Set(Object.keys(outputs).filter((path) => isEntry(outputs[path])));
  if (loaded.size === 0) throw new Error("the bundle has no entry");
  for (const path of loaded) {
    for (const { path: target, kind } of outputs[path].imports) {
      if (kind === "import-statement" && outputs[target] !== undefined) loaded.add(target);
    }
  }
  const parts = outputFiles.filter(({ path }) => [...loaded].some((name) => path.endsWith(name)));
  return gzipSync(parts.map(({ text }) => text.replace(BETWEEN_FILES, "")).join("\n"), { level: 9 }).length;
}
