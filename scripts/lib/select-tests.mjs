import { shown } from "./project.mjs";

/**
 * Chooses test files and titles for a run: `{ files, patterns }`. A filter that is a part of some file's path chooses
 * files. Any other filter, and each of `titles`, is a part of a title. A file matches by its source
 * (`test/unit/a.test.ts`) or by its built path. `wire` is a wire (`modern-stdio`), an era or a transport. `patterns`
 * are regular expressions for `--test-name-pattern`. A test runs if it matches one of them; all tests run if there are
 * none.
 */
export function selectTests(all, { filters = [], titles = [], wire }) {
  const has = (file, part) => [shown(file), sourceOf(file)].some((path) => path.includes(part));
  const parts = filters.filter((filter) => all.some((file) => has(file, filter)));
  const words = [...filters.filter((filter) => !parts.includes(filter)), ...titles];
  const files = parts.length === 0 ? all : all.filter((file) => parts.some((part) => has(file, part)));
  return { files, patterns: patternsOf(words, wire) };
}

/** Returns the path of the TypeScript source of a built test. */
export function sourceOf(file) {
  return shown(file)
    .replace(/^build\//, "")
    .replace("/dist/", "/")
    .replace(/\.js$/, ".ts");
}

function patternsOf(words, wire) {
  if (wire === undefined) return words.map(escaped);
  const end = `\\[(?:\\w+-)?${escaped(wire)}(?:-\\w+)?\\]$`;
  return words.length === 0 ? [end] : words.map((word) => `^(?=.*${escaped(word)}).*${end}`);
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
