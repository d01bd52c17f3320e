import { doesNotThrow, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "acorn";
import { transformSync } from "esbuild";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(/^```(\w+)\n((?:.*\n)*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language ? [code ?? ""] : [],
  );

test("the first 60 lines of the README have a block of the two commands of a clone", () => {
  const [start] = readme.split(/(?<=^(?:.*\n){60})/);
  const commands = ["npm install && npm run demo", "npm install && npm test"];
  ok(blocksOf(start ?? "", "sh").some((block) => commands.every((command) => block.includes(command))));
});

test("the programs of the README are JavaScript with types, which Node 22 runs", () => {
  const programs = blocksOf(readme, "ts");
  ok(programs.length > 2);
  for (const program of programs) {
    const { code } = transformSync(program, { loader: "ts", format: "esm", target: "esnext" });
    doesNotThrow(() => parse(code, { ecmaVersion: 2025, sourceType: "module" }), program);
  }
});
