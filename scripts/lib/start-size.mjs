import { gzipSync } from "node:zlib";

/** Matches imports and exports between the files of a bundle. */
const BETWEEN_FILES = /import\{[^{}]*\}from"\.\/chunk-\w+\.js";|export\{[^{}]*\};\s*$/g;

/** Matches the hash in the name of a file that is loaded on demand. It changes with the code of that file. */
const HASH = /(?<="\.\/[\w-]+)-[A-Z0-9]{8}(?=\.js")/g;

/**
 * Returns the gzipped size of the code that a bundle of esbuild loads at start. `isEntry` identifies the output that is
 * loaded first. Code behind dynamic imports does not count. All files are gzipped as one: bundlers differ in how many
 * files they make, and esbuild makes about thirty. The imports between them are left out. Files follow in the order of
 * imports, so that the size does not depend on their names.
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
  const parts = [...loaded].map((name) => outputFiles.find(({ path }) => path.endsWith(name))?.text ?? "");
  const code = parts.map((text) => text.replace(BETWEEN_FILES, "").replace(HASH, "")).join("\n");
  return gzipSync(code, { level: 9 }).length;
}
