import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadScript } from "./load-script.js";

const { filesBelow, shown } = await loadScript<{
  filesBelow(folder: string, ...endings: string[]): string[];
  shown(path: string): string;
}>("scripts/lib/project.mjs");

const sources = fileURLToPath(new URL("../../../test/", import.meta.url));

/** The text from the bracket that opens a call to the bracket that closes it. */
function argumentsAt(code: string, opening: number): string {
  let depth = 0;
  for (let index = opening; index < code.length; index++) {
    if ("([{".includes(code[index] ?? "")) depth++;
    if (")]}".includes(code[index] ?? "") && --depth === 0) return code.slice(opening + 1, index);
  }
  return code.slice(opening + 1);
}

/** True if a comma stands between arguments, and not inside one of them. */
function hasSecond(given: string): boolean {
  let depth = 0;
  for (const [index, char] of [...given].entries()) {
    if ("([{".includes(char)) depth++;
    if (")]}".includes(char)) depth--;
    if (char === "," && depth === 0 && given.slice(index + 1).trim() !== "") return true;
  }
  return false;
}

test("each expected failure says which failure is expected", () => {
  const bare: string[] = [];
  let seen = 0;
  for (const file of filesBelow(sources, ".test.ts")) {
    const code = readFileSync(file, "utf8").replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
    for (const { index, 0: call } of code.matchAll(/\brejects\(/g)) {
      seen++;
      if (hasSecond(argumentsAt(code, index + call.length - 1))) continue;
      bare.push(`${shown(file)}:${code.slice(0, index).split("\n").length}`);
    }
  }
  ok(seen > 500, `${seen} calls of rejects`);
  deepEqual(bare, []);
});
