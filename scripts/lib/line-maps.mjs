import { readFileSync, writeFileSync } from "node:fs";
import { decode, encode } from "@jridgewell/sourcemap-codec";
import { filesBelow } from "./project.mjs";

/**
 * Reduces the source maps of a folder to lines. The code is not minified, so that a line of it comes from one line of
 * the source, and the positions of columns would be a sixth of the package. Lines of comments are empty in the sources:
 * the declarations have the comments, and here they would be another sixth.
 */
export function reduceToLines(folder) {
  for (const path of filesBelow(folder, ".js.map")) {
    const map = JSON.parse(readFileSync(path, "utf8"));
    const mappings = encode(decode(map.mappings).map(reduceLine));
    const sourcesContent = map.sourcesContent?.map(withoutComments);
    writeFileSync(path, JSON.stringify({ ...map, names: [], mappings, sourcesContent }));
  }
}

/** Empties the lines that consist of a comment, so that the others keep their numbers. */
export function withoutComments(source) {
  return source?.replace(/^[ \t]*(?:\/\*\*|\*\/|\* |\*$|\/\/).*$/gm, "") ?? null;
}

/** Returns the segments of a line at which the source or its line changes. */
export function reduceLine(segments) {
  let [source, line] = [-1, -1];
  const kept = [];
  for (const [column, from, at, sourceColumn] of segments) {
    if (from === undefined || (from === source && at === line)) continue;
    [source, line] = [from, at];
    kept.push([column, from, at, sourceColumn]);
  }
  return kept;
}
