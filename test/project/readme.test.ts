import { ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

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
