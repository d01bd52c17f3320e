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

const { ambiguous } = await loadScript<{ ambiguous(entries: readonly Entry[]): readonly string[] }>(
  "scripts/check-api.mjs",
);

test("a name that two entries export is one declaration, except where an entry stands in for another", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-entries-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = {
    "shared.d.ts": "export interface Clock {\n    now(): number;\n}\n",
    "one.d.ts": 'export type { Clock } from "./shared.js";\nexport declare function tasks(): void;\n',
    "two.d.ts": 'export * from "./shared.js";\nexport declare function tasks(): string;\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const entry = (specifier: string, file: string) => ({ specifier, types: join(folder, file) });
  const problemsOf = (specifier: string) =>
    ambiguous([entry("bowline/one", "one.d.ts"), entry(specifier, "two.d.ts")]).map((problem) => problem.split(",")[0]);
  deepEqual(problemsOf("bowline/two"), ["tasks is exported by bowline/one and by bowline/two"]);
  deepEqual(problemsOf("bowline/compat"), []);
});
