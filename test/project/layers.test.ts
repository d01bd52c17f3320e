import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadScript } from "./load-script.js";

const { examine } = await loadScript<{
  examine(source: string, packages: ReadonlySet<string>): { readonly problems: readonly string[] };
}>("scripts/check-layers.mjs");

type Files = Readonly<Record<string, string>>;

const root = fileURLToPath(new URL("../../..", import.meta.url));
const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
const rules = /lint\/(style\/noRestrictedImports|style\/useNodejsImportProtocol|suspicious\/noImportCycles),/;

/** Writes the files into the `src` of an empty project and gives its folder. */
function projectOf(t: TestContext, files: Files): string {
  const project = mkdtempSync(join(tmpdir(), "bowline-layers-"));
  t.after(() => rmSync(project, { recursive: true }));
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(project, "src", path)), { recursive: true });
    writeFileSync(join(project, "src", path), code);
  }
  return project;
}

/** The linter's findings about imports, under the configuration of this project, as `file: message`. */
function lintedOf(t: TestContext, files: Files): readonly string[] {
  const project = projectOf(t, files);
  for (const name of ["biome.json", "biome-layers.json"]) copyFileSync(join(root, name), join(project, name));
  const args = [biome, "lint", "--colors=off", "--max-diagnostics=none", "--reporter=github", "src"];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
  if (stdout.includes("configuration")) throw new Error(stdout + stderr);
  const lines = stdout.split("\n").filter((line) => rules.test(line));
  return lines.map((line) => line.replace(/.*file=.*?[\\/]src[\\/](.*?),.*?::/, "$1: ").replaceAll("\\", "/"));
}

const examinedOf = (t: TestContext, files: Files) =>
  examine(join(projectOf(t, files), "src"), new Set(["allowed"])).problems;

function only(problems: readonly string[]): string {
  equal(problems.length, 1, problems.join("\n"));
  return problems[0] ?? "";
}

const leaf = "export const leaf = 1;\n";

test("imports along the arrows pass", (t) => {
  const files = {
    "schema/leaf.ts": leaf,
    "server/a.ts":
      'import { leaf } from "../schema/leaf.js";\nimport { x } from "allowed/part";\nexport const a = [leaf, x];\n',
    "node/b.ts": 'import { spawn } from "node:child_process";\nexport * from "../server/a.js";\nexport { spawn };\n',
  };
  deepEqual(lintedOf(t, files), []);
  deepEqual(examinedOf(t, files), []);
});

for (const [kind, code] of [
  ["a static", 'import { leaf } from "../server/leaf.js";\nexport const a = leaf;'],
  ["a type", 'import type { leaf } from "../server/leaf.js";\nexport type A = typeof leaf;'],
  ["a dynamic", 'export const load = () => import("../server/leaf.js");'],
  ["a multi-line", 'import {\n  leaf,\n} from "../server/leaf.js";\nexport const a = leaf;'],
  ["a re-export's", 'export * from "../server/leaf.js";'],
] as const) {
  test(`${kind} import against the arrows is found`, (t) => {
    equal(
      only(lintedOf(t, { "server/leaf.ts": leaf, "client/a.ts": code })),
      "client/a.ts: src/client imports lower layers only.",
    );
  });
}

/** For each layer a file at each depth, the layers that it may import, and one that it may not. */
const arrows: readonly (readonly [file: string, may: readonly string[], mayNot: string])[] = [
  ["protocol/a.ts", [], "call"],
  ["protocol/types/a.ts", [], "schema"],
  ["call/a.ts", ["protocol"], "schema"],
  ["cluster/a.ts", ["protocol", "call"], "store"],
  ["cluster/memory/a.ts", ["protocol", "call"], "node"],
  ["redis/a.ts", ["protocol", "call", "cluster"], "store"],
  ["postgres/a.ts", ["protocol", "call", "cluster"], "store"],
  ["sqlite/a.ts", ["protocol", "call", "cluster"], "node"],
  ["schema/a.ts", ["protocol", "call"], "http"],
  ["schema/json-schema/a.ts", ["protocol", "call"], "store"],
  ["http/a.ts", ["protocol", "call", "schema"], "client"],
  ["http/sse/a.ts", ["protocol", "call", "schema"], "store"],
  ["store/a.ts", ["protocol", "call", "schema"], "http"],
  ["era/a.ts", ["protocol", "call", "cluster", "schema", "http", "store"], "server"],
  ["era/modern/a.ts", ["protocol", "http"], "client"],
  ["era/modern/server/a.ts", ["protocol", "store"], "server"],
  ["era/legacy/server/cluster/a.ts", ["protocol", "call", "cluster"], "server"],
  ["server/a.ts", ["protocol", "http", "store", "era"], "client"],
  ["server/state/a.ts", ["protocol", "era"], "auth"],
  ["client/cache/a.ts", ["protocol", "era"], "server"],
  ["auth/a.ts", ["protocol", "http"], "client"],
  ["auth/issuer/a.ts", ["protocol", "http"], "server"],
  ["auth/issuer/store/a.ts", ["protocol", "http"], "store"],
  ["otel/a.ts", ["protocol", "server", "client"], "auth"],
  ["state/a.ts", ["protocol", "call", "cluster", "schema", "era"], "server"],
  ["tasks/server/a.ts", ["protocol", "call", "cluster", "schema", "era", "server"], "node"],
  ["skills/a.ts", ["protocol"], "server"],
  ["skills/server/a.ts", ["protocol", "call", "era", "server"], "node"],
  ["skills/client/a.ts", ["protocol", "call", "era", "client"], "server"],
  ["tasks/a.ts", ["protocol"], "server"],
  ["tasks/client/a.ts", ["protocol", "call", "schema", "era", "client"], "server"],
  ["node/a.ts", ["server", "client", "auth"], "testing"],
  ["node/http/a.ts", ["server", "client", "auth"], "entry"],
  ["testing/a.ts", ["server", "client", "node"], "auth"],
];

test("each layer imports at each depth what its row allows, and nothing else", (t) => {
  const files = arrows.map(([file, may, mayNot]) => {
    const up = "../".repeat(file.split("/").length - 1);
    return [file, [...may, mayNot].map((layer) => `export * from "${up}${layer}/leaf.js";\n`).join("")] as const;
  });
  const found = lintedOf(t, Object.fromEntries(files));
  deepEqual(found.map((text) => text.split(":")[0]).sort(), arrows.map(([file]) => file).sort());
});

test("folders inside a layer may bear the name of another layer", (t) => {
  const files = {
    "http/client/leaf.ts": leaf,
    "http/sse/a.ts": 'export * from "../client/leaf.js";\n',
    "era/modern/client/leaf.ts": leaf,
    "era/modern/server/a.ts": 'export * from "../client/leaf.js";\n',
    "auth/client/leaf.ts": leaf,
    "auth/issuer/store/a.ts": 'export * from "../../client/leaf.js";\n',
  };
  deepEqual(lintedOf(t, files), []);
});

for (const [kind, code] of [
  ["", 'import "node:fs";'],
  [" by a type import", 'import type { Readable } from "node:stream";\nexport type A = Readable;'],
  [" by a dynamic import", 'export const load = () => import("node:fs/promises");'],
  [" by a re-export", 'export { readFile } from "node:fs/promises";'],
  [" without its prefix", 'import { readFile } from "fs";\nexport const a = readFile;'],
] as const) {
  test(`node: outside the node layer is found${kind}`, (t) => {
    match(only(lintedOf(t, { "http/a.ts": code, "node/a.ts": 'import "node:fs";' })), /^http\/a\.ts: /);
  });
}

test("a package that users do not have is found", (t) => {
  match(only(examinedOf(t, { "http/a.ts": 'import type { z } from "zod";' })), /users of the package do not have/);
});

test("a cycle of type imports is found", (t) => {
  const files = {
    "call/a.ts": 'import type { B } from "./b.js";\nexport type A = B;\n',
    "call/b.ts": 'export type { C as B } from "./c.js";\n',
    "call/c.ts": 'export const c = () => import("./a.js");\nexport type C = 1;\n',
  };
  const found = lintedOf(t, files);
  deepEqual(
    [...found].sort(),
    Object.keys(files).map((file) => `${file}: This import is part of a cycle.`),
  );
});

test("a path that takes a detour is found", (t) => {
  match(only(examinedOf(t, { "http/a.ts": 'export * from "./../protocol/a.js";' })), /not the shortest path/);
  match(only(examinedOf(t, { "http/a.ts": 'export * from "../call/../server/a.js";' })), /not the shortest path/);
});

test("a type that is imported in place is found", (t) => {
  for (const code of [
    'type A = typeof import("./b.js");',
    'type A = import("./b.js").B;',
    'let a: import("node:fs").Stats;',
  ])
    match(only(examinedOf(t, { "http/a.ts": code })), /which the linter does not see/);
});

test("a folder that is no layer, and one that is deeper than its rows, are found", (t) => {
  match(only(examinedOf(t, { "attic/a.ts": leaf })), /attic\/a\.ts: no layer: .*src\/attic\/\*\.ts$/);
  match(only(examinedOf(t, { "call/deep/a.ts": leaf })), /a\.ts: no layer: .*src\/call\/\*\/\*\.ts$/);
  match(only(examinedOf(t, { "a.ts": leaf })), /a\.ts: no layer: .*src\/\*\.ts$/);
});

test("an era's name is found in code and not in comments", (t) => {
  const code = '// legacy\n/* modern\n 2025-11-25 */\nexport const isLegacy = "https://x"; // modern\n';
  match(only(examinedOf(t, { "server/a.ts": code, "era/b.ts": "export const legacy = 1;" })), /a\.ts:4: "Legacy"/);
});

test("the option era may name eras, and nothing else in its file", (t) => {
  const type = 'export interface A {\n  readonly era?: "modern" | undefined;\n}\n';
  const known = 'const KNOWN = {\n  era: [{ string: ["modern"] }],\n};\n';
  const files = { "client/options.ts": `${type + known}export const isModern = true;\n` };
  match(only(examinedOf(t, files)), /options\.ts:7: "Modern"/);
  match(only(examinedOf(t, { "client/other.ts": type })), /other\.ts:2: "modern"/);
});
