import { doesNotMatch, equal, match } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Outcome {
  readonly tests: readonly { readonly title: string; readonly error?: string }[];
}

const { runTestFile } = await loadScript<{
  runTestFile(path: string, options: { patterns: readonly string[] }): Promise<Outcome>;
}>("scripts/lib/test-files.mjs");

/** Runs a file whose only line comes from the third line of `source.ts`. */
async function failure(t: TestContext, folder: string): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "bowline-maps-"));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, folder), { recursive: true });
  const file = join(root, folder, "built.mjs");
  const map = { version: 3, sources: ["source.ts"], names: [], mappings: "AAEA" };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}`;
  const code = 'import { test } from "node:test"; test("fails", () => { throw new Error("no"); });';
  writeFileSync(file, `${code}\n//# sourceMappingURL=${url}\n`);
  const { tests } = await runTestFile(file, { patterns: [] });
  equal(tests[0]?.title, "fails");
  return tests[0]?.error ?? "";
}

test("the stack of a failing test names the line of the source", async (t) => {
  match(await failure(t, "unit"), /source\.ts:3:/);
});

test("tests that measure memory and the hot path run without source maps", async (t) => {
  for (const folder of ["leaks", "hot-path"]) doesNotMatch(await failure(t, folder), /source\.ts/);
});

test("the sources in the package have no lines of comments, and the other lines keep their numbers", async () => {
  const { withoutComments } = await loadScript<{ withoutComments(source: string): string }>(
    "scripts/lib/line-maps.mjs",
  );
  const source = '/** One.\n * Two.\n */\nconst a = 1 * 2; // three\n  // four\nconst b = "/* five */";\n';
  equal(withoutComments(source), '\n\n\nconst a = 1 * 2; // three\n\nconst b = "/* five */";\n');
});
