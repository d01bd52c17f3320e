import { gzipSync } from "node:zlib";

/** What a file takes from the others, and gives to them. */
const BETWEEN_FILES = /import\{[^{}]*\}from"\.\/chunk-\w+\.js";|export\{[^{}]*\};\s*$/g;

/**
 * The bytes, gzipped, of what a bundle of esbuild's loads at start: `isEntry` tells the output that it begins with. What a
 * dynamic import brings is paid for when it is used. All is gzipped as one file: bundlers differ in how many they make of
 * what is loaded together, and esbuild makes some thirty, with imports between them that are left out here.
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
