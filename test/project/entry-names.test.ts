import { deepEqual } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Entry {
  readonly specifier: string;
  readonly types: string;
}

const { ambiguous } = await loadScript<{ ambiguous(entries: readonly Entry[]): readonly string[] }>(
  "scripts/check-api.mjs",
);

/** Writes declarations to files, and returns their place as that of an entry. */
function written(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-entries-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return (specifier: string, file: string) => ({ specifier, types: join(folder, file) });
}

test("a name that two entries export is one declaration, except where an entry stands in for another", (t) => {
  const entry = written(t, {
    "shared.d.ts": "export interface Clock {\n    now(): number;\n}\n",
    "one.d.ts": 'export type { Clock } from "./shared.js";\nexport declare function tasks(): void;\n',
    "two.d.ts": 'export * from "./shared.js";\nexport declare function tasks(): string;\n',
  });
  const problemsOf = (specifier: string) =>
    ambiguous([entry("bowline/one", "one.d.ts"), entry(specifier, "two.d.ts")]).map((problem) => problem.split(",")[0]);
  deepEqual(problemsOf("bowline/two"), ["tasks is exported by bowline/one and by bowline/two"]);
  deepEqual(problemsOf("bowline/compat"), []);
});

test("a signature names no type by the name that an entry exports for another type", (t) => {
  const entry = written(t, {
    "protocol.d.ts": "export interface Result {\n    meta: object;\n}\n",
    "answer.d.ts": "export type Result = object;\nexport type Answer = Result;\n",
    "server.d.ts":
      'import { Result } from "./answer.js";\nexport { Answer as Reply } from "./answer.js";\nexport declare function answer(): Result;\n',
  });
  const problems = ambiguous([entry("bowline", "protocol.d.ts"), entry("bowline/server", "server.d.ts")]);
  deepEqual(
    problems.map((problem) => problem.replace(/ of \S+,/, ",")),
    ["Reply", "answer"].map(
      (name) => `bowline/server: ${name} names Result, and Result of bowline is another type; rename one`,
    ),
  );
});
