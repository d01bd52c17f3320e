import { deepEqual, equal, match } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

type Graph = ReadonlyMap<string, unknown>;

const { examine } = await loadScript<{
  examine(graph: Graph, packages: ReadonlySet<string>): readonly string[];
}>("scripts/check-layers.mjs");
const { overloads } = await loadScript<{
  overloads(loaded: ReadonlyMap<string, readonly string[]>, row: readonly string[]): readonly string[];
}>("scripts/check-bleed.mjs");
const { readGraph, loadedBy, cyclesIn } = await loadScript<{
  readGraph(folder: string): Graph;
  loadedBy(graph: Graph, start: string): ReadonlyMap<string, readonly string[]>;
  cyclesIn(graph: Graph): readonly (readonly string[])[];
}>("scripts/lib/graph.mjs");
const { entries } = await loadScript<{ entries: Readonly<Record<string, readonly string[]>> }>("scripts/layers.mjs");

type Files = Readonly<Record<string, string>>;

/** Writes the files into an empty folder and returns their imports. */
function graphOf(t: TestContext, files: Files): Graph {
  const folder = mkdtempSync(join(tmpdir(), "bowline-layers-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  return readGraph(folder);
}

const examinedOf = (t: TestContext, files: Files) => examine(graphOf(t, files), new Set(["allowed"]));

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
    match(
      only(examinedOf(t, { "server/leaf.ts": leaf, "client/a.ts": code })),
      /^client\/a\.ts: imports server\/leaf\.ts, and client may import protocol, /,
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
  ["journal/a.ts", ["protocol", "call"], "era"],
  ["era/a.ts", ["protocol", "call", "cluster", "schema", "http", "store", "journal"], "server"],
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
  ["tasks/server/a.ts", ["protocol", "call", "cluster", "schema", "journal", "era", "server"], "node"],
  ["skills/a.ts", ["protocol"], "server"],
  ["skills/server/a.ts", ["protocol", "call", "era", "server"], "node"],
  ["skills/client/a.ts", ["protocol", "call", "era", "client"], "server"],
  ["tasks/a.ts", ["protocol"], "server"],
  ["tasks/client/a.ts", ["protocol", "call", "schema", "era", "client"], "tasks/server"],
  ["skills/server/deep/a.ts", ["skills", "server"], "skills/client"],
  ["compat/a.ts", ["server", "node"], "client"],
  ["testing/contract/a.ts", ["testing", "cluster"], "redis"],
  ["recording/a.ts", ["protocol", "http", "server", "client"], "testing"],
  ["node/a.ts", ["server", "client", "recording", "auth"], "testing"],
  ["node/http/a.ts", ["server", "client", "auth"], "entry"],
  ["testing/a.ts", ["server", "client", "recording", "node"], "auth"],
  ["cli/a.ts", ["protocol", "schema", "client", "node", "entry"], "server"],
  ["cli/commands/a.ts", ["protocol", "client", "skills", "tasks", "entry"], "testing"],
];

test("each layer imports at each depth what its row allows, and nothing else", (t) => {
  const files = arrows.map(([file, may, mayNot]) => {
    const up = "../".repeat(file.split("/").length - 1);
    return [file, [...may, mayNot].map((layer) => `export * from "${up}${layer}/leaf.js";\n`).join("")] as const;
  });
  const leaves = new Set(arrows.flatMap(([, may, mayNot]) => [...may, mayNot].map((layer) => `${layer}/leaf.ts`)));
  const found = examinedOf(t, Object.fromEntries([...files, ...[...leaves].map((path) => [path, leaf])]));
  const expected = arrows.map(([file, , mayNot]) => `${file}: imports ${mayNot}/leaf.ts`);
  deepEqual(found.map((text) => text.split(",")[0]).sort(), expected.sort());
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
  deepEqual(examinedOf(t, files), []);
});

for (const [kind, code] of [
  ["", 'import "node:fs";'],
  [" by a type import", 'import type { Readable } from "node:stream";\nexport type A = Readable;'],
  [" by a dynamic import", 'export const load = () => import("node:fs/promises");'],
  [" by a re-export", 'export { readFile } from "node:fs/promises";'],
  [" without its prefix", 'import { readFile } from "fs";\nexport const a = readFile;'],
] as const) {
  test(`node: outside the node layer is found${kind}`, (t) => {
    match(only(examinedOf(t, { "http/a.ts": code, "node/a.ts": 'import "node:fs";' })), /^http\/a\.ts: imports /);
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
    "call/d.ts": 'export * from "./a.js";\nexport * from "./c.js";\n',
  };
  deepEqual(cyclesIn(graphOf(t, files)), [["call/a.ts", "call/b.ts", "call/c.ts", "call/a.ts"]]);
  deepEqual(cyclesIn(graphOf(t, { ...files, "call/c.ts": leaf })), []);
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
    match(only(examinedOf(t, { "node/a.ts": code })), /: use import type$/);
});

test("a file outside of all layers is found, and one deep in a layer belongs to it", (t) => {
  match(only(examinedOf(t, { "attic/a.ts": leaf })), /^attic\/a\.ts: no layer: /);
  match(only(examinedOf(t, { "a.ts": leaf })), /^a\.ts: no layer: /);
  const deep = { "call/deep/a.ts": 'export * from "../../http/leaf.js";\n', "http/leaf.ts": leaf };
  match(only(examinedOf(t, deep)), /^call\/deep\/a\.ts: imports http\/leaf\.ts, and call may import protocol$/);
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

/** Loads a module with these imports, as an entry with this row of the table. */
function loadedProblems(t: TestContext, row: readonly string[], code: string, files: Files = {}) {
  return overloads(loadedBy(graphOf(t, { "entry/a.ts": code, ...files }), "entry/a.ts"), row);
}

test("an entry loads its layers and all that these may import", (t) => {
  const code = 'export * from "../server/a.js";\n';
  const files = { "server/a.ts": 'export * from "../http/deep/leaf.js";\n', "http/deep/leaf.ts": leaf };
  deepEqual(loadedProblems(t, ["server"], code, files), []);
  deepEqual(loadedProblems(t, ["store"], code, files), [
    "must not load server/a.ts: entry/a.ts -> server/a.ts",
    "must not load http/deep/leaf.ts: entry/a.ts -> server/a.ts -> http/deep/leaf.ts",
  ]);
});

test("an entry does not load what its row excludes, be it a folder, a module or a module of Node", (t) => {
  const code = 'export * from "../era/old/deep/a.js";\nexport * from "../era/older.js";\nimport "node:http";\n';
  const files = { "era/old/deep/a.ts": leaf, "era/older.ts": leaf };
  deepEqual(loadedProblems(t, ["era", "node:"], code, files), []);
  const found = loadedProblems(t, ["era", "node:", "!era/old", "!node:http"], code, files);
  deepEqual(
    found.map((problem) => problem.split(":")[0]),
    ["must not load era/old/deep/a.ts", "must not load node"],
  );
  match(only(loadedProblems(t, ["era"], code, files)), /^must not load node:http: /);
});

test("an entry needs no package that its row does not name", (t) => {
  const code = 'import { sign } from "jose";\nexport { sign };\n';
  match(only(loadedProblems(t, ["auth"], code)), /^must not load jose: entry\/a\.ts -> jose$/);
  deepEqual(loadedProblems(t, ["auth", "jose"], code), []);
});

test("an entry may load on demand, and take the types of, what its row excludes", (t) => {
  const code = 'export const a = () => import("../server/a.js");\nexport type * from "../server/a.js";\n';
  deepEqual(loadedProblems(t, ["client"], code, { "server/a.ts": leaf }), []);
});

/** For each entry of the package, modules that it must not load. */
const forbidden: Readonly<Record<string, readonly string[]>> = {
  ".": ["cluster/a.ts", "node/a.ts", "redis/a.ts", "server/a.ts", "node:fs"],
  "./client": ["server/a.ts", "era/legacy/client/connect.ts", "schema/json-schema/validator.ts", "cluster/a.ts"],
  "./server": ["client/a.ts", "cluster/a.ts", "era/legacy/server/era.ts", "era/modern/server/replay.ts"],
  "./server/modern": ["era/legacy/a.ts", "schema/json-schema/check-schema.ts", "server/state/seal.ts"],
  "./json-schema": ["cluster/a.ts", "client/a.ts", "server/a.ts", "era/a.ts", "node:fs"],
  "./node": ["auth/client/oauth.ts", "skills/client/a.ts", "cluster/a.ts", "tasks/server/a.ts", "node:http"],
  "./auth/client": ["auth/server/a.ts", "auth/issuer/a.ts", "client/a.ts", "node:crypto", "jose"],
  "./auth/server": ["auth/client/a.ts", "auth/issuer/a.ts", "era/a.ts", "server/a.ts", "node/a.ts"],
  "./auth/issuer": ["auth/client/a.ts", "auth/server/a.ts", "era/a.ts", "cluster/a.ts", "node/a.ts"],
  "./compat": ["client/a.ts", "auth/client/oauth.ts", "cluster/a.ts", "redis/a.ts", "node:child_process"],
  "./skills/server": ["client/a.ts", "skills/client/a.ts", "auth/a.ts", "cluster/a.ts", "node/a.ts"],
  "./skills/client": ["server/a.ts", "skills/server/a.ts", "auth/a.ts", "cluster/a.ts", "node:fs"],
  "./tasks/server": ["client/a.ts", "tasks/client/a.ts", "skills/a.ts", "auth/a.ts", "postgres/a.ts"],
  "./tasks/client": ["server/a.ts", "tasks/server/a.ts", "skills/a.ts", "cluster/a.ts", "node/a.ts"],
  "./state": ["server/a.ts", "client/a.ts", "tasks/a.ts", "skills/a.ts", "node/a.ts", "auth/a.ts"],
  "./cluster": ["postgres/a.ts", "server/a.ts", "era/a.ts", "http/a.ts", "store/a.ts", "node:fs"],
  "./redis": ["cluster/memory/a.ts", "postgres/a.ts", "sqlite/a.ts", "server/a.ts", "http/a.ts"],
  "./postgres": ["cluster/memory/a.ts", "redis/a.ts", "sqlite/a.ts", "era/a.ts", "store/a.ts"],
  "./sqlite": ["cluster/memory/a.ts", "redis/a.ts", "auth/a.ts", "node/http/a.ts", "node:sqlite"],
  "./otel": ["server/a.ts", "client/a.ts", "era/a.ts", "cluster/a.ts", "node:fs"],
  "./testing": ["redis/a.ts", "tasks/client/a.ts", "jose"],
  "./inspect": [
    "server/a.ts",
    "cluster/a.ts",
    "auth/issuer/a.ts",
    "tasks/server/a.ts",
    "doctor/a.ts",
    "node:http",
    "jose",
  ],
};

test("each entry of the package has a row, which excludes what its users do not need", () => {
  deepEqual(Object.keys(forbidden).sort(), Object.keys(entries).sort());
  for (const [entry, names] of Object.entries(forbidden))
    for (const name of names)
      equal(overloads(new Map([[name, [name]]]), entries[entry] ?? []).length, 1, `${entry} ${name}`);
});
