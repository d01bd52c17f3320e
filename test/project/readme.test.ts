import { deepEqual, doesNotMatch, equal, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const root = (path: string) => new URL(`../../../${path}`, import.meta.url);
const read = (path: string) => readFileSync(root(path), "utf8");
const readme = read("README.md");
const manifest = JSON.parse(read("package.json"));

/** Paths of the examples, such as `tasks/server.ts`. */
const examples = readdirSync(root("examples"), { encoding: "utf8", recursive: true })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => name.endsWith(".ts") && !/^(?:dist|node_modules)\//.test(name));

const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(/^```(\w+)\n((?:.*\n)*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language ? [code ?? ""] : [],
  );

test("the first 60 lines of the README have a block of the two commands of a clone", () => {
  const [start] = readme.split(/(?<=^(?:.*\n){60})/);
  const commands = ["npm install && npm run demo", "npm install && npm test"];
  ok(blocksOf(start ?? "", "sh").some((block) => commands.every((command) => block.includes(command))));
});

test("the README begins with a server of about ten lines", () => {
  const [server = ""] = blocksOf(readme, "ts");
  ok(server.startsWith("// server.ts\n"));
  ok(server.split("\n").filter((line) => line !== "" && !line.startsWith("//")).length <= 10);
});

test("the README lists each entry of the package, and each peer dependency beside one", () => {
  const [table = ""] = readme.split("\n## Entries\n")[1]?.split("\n## ") ?? [];
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  const quoted = (column: number) =>
    rows.flatMap((row) => [...(row.split("|")[column] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  const entries = Object.keys(manifest.exports).filter((path) => path !== "./package.json");
  deepEqual(quoted(1).sort(), entries.map((path) => `bowline${path.slice(1)}`).sort());
  deepEqual(quoted(3).sort(), Object.keys(manifest.peerDependencies).sort());
});

test("versions and counts in the README are those of the project", async () => {
  const { readCatalogue } = await loadScript<{ readCatalogue(): ReadonlyMap<string, unknown> }>(
    "scripts/lib/catalogue.mjs",
  );
  const count = Number(/more than ([\d,]+) requirements/.exec(readme)?.[1]?.replace(",", ""));
  const { size } = readCatalogue();
  ok(count < size && size <= count + 200, `the catalogue has ${size} requirements`);
  ok(readme.includes(`version ${manifest.version}.`));
  ok(readme.includes(`/build/bowline-${manifest.version}.tgz `));
});

test("the README has the figures of the page about performance if these name their commit, and no others", async () => {
  const { toOverview } = await loadScript<{ toOverview(results: object): string }>("bench/report/overview.mjs");
  const [before = "", part = "", after = ""] = readme.split(/<!-- bench: (?:begin|end) -->/);
  equal(part.trim(), toOverview(JSON.parse(read("docs/performance.json"))).trim());
  const chart = /\]\((docs\/[\w-]+\.svg)\)/.exec(part)?.[1];
  const bars = chart === undefined ? [] : [...read(chart).matchAll(/class="name[^"]*"[^>]*>([\w-]+)</g)];
  const rows = [...part.matchAll(/^\| ([\w-]+) \(/gm)];
  deepEqual([...new Set(bars.map(([, peer]) => peer))].sort(), rows.map(([, peer]) => peer).sort());
  doesNotMatch(before + after, /\.svg|(?:calls|requests) (?:a|per) second|times (?:faster|as)/);
});

test("the index of tasks names each page of docs", () => {
  const names = readdirSync(root("docs"), { encoding: "utf8", recursive: true }).map((name) =>
    name.replaceAll("\\", "/"),
  );
  const index = read("docs/README.md");
  const others = names.filter((name) => name.endsWith(".md") && name !== "README.md");
  ok(others.includes("deploying/docker.md"));
  deepEqual(
    others.filter((name) => !new RegExp(`\\]\\(${name.replaceAll(".", "\\.")}[)#]`).test(index)),
    [],
  );
});

test("the page of examples names each example, and only programs that exist", () => {
  const page = read("examples/README.md");
  const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link ?? "");
  for (const link of links) ok(existsSync(root(`examples/${link}`)), link);
  deepEqual(
    examples.filter((name) => !links.includes(name)),
    [],
  );
});

test("the examples that users copy close what they open, since Node 22 does not read `await using`", () => {
  const copied = examples.filter((name) => !name.startsWith("cluster/"));
  ok(copied.includes("tasks/server.ts"));
  deepEqual(
    copied.filter((name) => read(`examples/${name}`).includes("await using")),
    [],
  );
});
