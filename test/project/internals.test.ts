import { deepEqual } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Entry {
  readonly specifier: string;
  readonly types: string;
}

const { internals } = await loadScript<{ internals(entries: readonly Entry[]): readonly string[] }>(
  "scripts/check-api.mjs",
);

/** Looks for internals in entries with these declarations. Other names are modules that the entries import. */
function findIn(t: { after(end: () => void): void }, files: Readonly<Record<string, string>>): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "bowline-internals-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.d.ts`), text);
  const entries = Object.keys(files).filter((name) => name.startsWith("entry"));
  return internals(entries.map((name) => ({ specifier: name, types: join(folder, `${name}.d.ts`) }))).map((line) =>
    line.replace(/ \(.*\)/, ""),
  );
}

const CORE =
  "export interface Core {\n    readonly depth: Depth;\n}\nexport interface Depth {\n    readonly metres: number;\n}\n";

test("a class or interface that no entry exports is named with the way to it", (t) => {
  const entry =
    'import type { Core } from "./core.js";\nexport declare class Ship {\n    protected readonly core: Core;\n}\n';
  deepEqual(findIn(t, { entry, core: CORE }), ["entry: Ship > Core: no entry exports Core"]);
});

test("what hides behind an alias is found, and the alias itself is not named", (t) => {
  const entry =
    'import type { Core } from "./core.js";\ntype Deep = Core["depth"] | Core;\nexport declare function dive(to: Deep): void;\n';
  deepEqual(findIn(t, { entry, core: CORE }), ["entry: dive > Deep > Core: no entry exports Core"]);
});

test("what any entry exports is no internal", (t) => {
  const entry = 'import type { Core } from "./core.js";\nexport declare class Ship {\n    readonly core: Core;\n}\n';
  deepEqual(findIn(t, { entry, entryOfParts: 'export type { Core, Depth } from "./core.js";\n', core: CORE }), []);
});

const PORT = "export declare class Port {\n    constructor(depth: number);\n}\n";

test("a public constructor of a class that entries export as a type only is named", (t) => {
  const all = "export type * from ";
  const files = { entry: 'export { type Port } from "./port.js";\n', entryOfTypes: `${all}"./port.js";\n`, port: PORT };
  const problem =
    "entry: Port: the constructor is declared, and no entry exports the class as a value; mark it @internal";
  deepEqual(findIn(t, files), [problem]);
  deepEqual(findIn(t, { ...files, entryOfValue: 'export { Port } from "./port.js";\n' }), []);
  deepEqual(findIn(t, { ...files, port: PORT.replace("constructor", "private constructor") }), []);
});

test("and also if only an alias of the class is exported", (t) => {
  const entry = 'import { Port } from "./port.js";\nexport type Haven = Port;\nexport type { Port as Quay };\n';
  const problem =
    "entry: Port: the constructor is declared, and no entry exports the class as a value; mark it @internal";
  deepEqual(findIn(t, { entry, port: PORT }), [problem]);
});

test("an object type that no entry exports is an internal also as an alias", (t) => {
  const entry = 'import type { Core } from "./core.js";\nexport declare function dive(to: Core): void;\n';
  const core = "export type Core = {\n    readonly depth: number;\n};\n";
  deepEqual(findIn(t, { entry, core }), ["entry: dive > Core: no entry exports Core"]);
  deepEqual(findIn(t, { entry, core: "export type Core = {\n    [Name in string]: Name;\n};\n" }), []);
  deepEqual(findIn(t, { entry: `${core.replace("export ", "")}export declare function dive(to: Core): void;\n` }), []);
});
