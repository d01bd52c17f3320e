import { deepEqual, equal, match } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

const { examine } = await loadScript<{
  examine(source: string, packages: ReadonlySet<string>): { readonly problems: readonly string[] };
}>("scripts/check-layers.mjs");

function problemsOf(t: TestContext, files: Readonly<Record<string, string>>): readonly string[] {
  const source = mkdtempSync(join(tmpdir(), "bowline-layers-"));
  t.after(() => rmSync(source, { recursive: true }));
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    writeFileSync(join(source, path), code);
  }
  return examine(source, new Set(["allowed"])).problems;
}

function onlyProblem(t: TestContext, files: Readonly<Record<string, string>>): string {
  const problems = problemsOf(t, files);
  equal(problems.length, 1, problems.join("\n"));
  return problems[0] ?? "";
}

const leaf = "export const leaf = 1;\n";

test("imports along the arrows pass", (t) => {
  const files = {
    "schema/leaf.ts": leaf,
    "server/a.ts":
      'import { leaf } from "../schema/leaf.js";\nimport x from "allowed/part";\nexport default [leaf, x];\n',
    "node/b.ts": 'import { spawn } from "node:child_process";\nexport * from "../server/a.js";\nexport { spawn };\n',
  };
  deepEqual(problemsOf(t, files), []);
});

for (const [kind, code] of [
  ["a static", 'import { leaf } from "../server/leaf.js";'],
  ["a type", 'import type { leaf } from "../server/leaf.js";'],
  ["a dynamic", 'export const load = () => import("../server/leaf.js");'],
  ["a multi-line", 'import {\n  leaf,\n} from "../server/leaf.js";'],
  ["a re-export's", 'export * from "../server/leaf.js";'],
] as const) {
  test(`${kind} import against the arrows is found`, (t) => {
    match(onlyProblem(t, { "server/leaf.ts": leaf, "client/a.ts": code }), /client may not import server/);
  });
}

test("node: outside the node layer is found", (t) => {
  match(onlyProblem(t, { "http/a.ts": 'import "node:fs";' }), /only src\/node may/);
});

test("a package that users do not have is found", (t) => {
  match(onlyProblem(t, { "http/a.ts": 'import type { z } from "zod";' }), /users of the package do not have/);
});

test("a cycle of type imports is found", (t) => {
  const files = { "call/a.ts": 'import type { B } from "./b.js";', "call/b.ts": 'import type { A } from "./a.js";' };
  match(onlyProblem(t, files), /^cycle: .*a\.ts -> .*b\.ts -> .*a\.ts$/);
});

test("an era's name is found in code and not in comments", (t) => {
  const code = '// legacy\n/* modern\n 2025-11-25 */\nexport const isLegacy = "https://x"; // modern\n';
  match(onlyProblem(t, { "server/a.ts": code, "era/b.ts": "export const legacy = 1;" }), /a\.ts:4: "Legacy"/);
});
