import { deepEqual, equal } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

type Seam = readonly [file: string, target: string];
const { measure } = await loadScript<{
  measure(source: string, allowed: Readonly<Record<string, readonly Seam[]>>): { readonly problems: readonly string[] };
}>("scripts/check-house.mjs");

function problemsOf(t: TestContext, files: Readonly<Record<string, string>>, ...seams: readonly (readonly Seam[])[]) {
  const source = mkdtempSync(join(tmpdir(), "bowline-house-"));
  t.after(() => rmSync(source, { recursive: true }));
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    writeFileSync(join(source, path), code);
  }
  return measure(source, Object.fromEntries(seams.entries())).problems.map((problem) =>
    problem.replace(/.*bowline-house-\w+\//, ""),
  );
}

test("a file of more than 450 lines is found", (t) => {
  const files = { "a/long.ts": "\n".repeat(451), "a/fits.ts": "\n".repeat(450) };
  deepEqual(problemsOf(t, files), ["a/long.ts: 451 lines; 450 are allowed"]);
});

test("a folder of more than 23 files is found", (t) => {
  const fill = (folder: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/${index}.ts`, ""]));
  deepEqual(problemsOf(t, { ...fill("full", 24), ...fill("fits", 23), ...fill("fits/inner", 1) }), [
    "full: 24 files; 23 are allowed",
  ]);
});

test("a dynamic import that is not listed is found, in whatever form", (t) => {
  const found = problemsOf(t, {
    "a/a.ts": 'const b = async () => (await import("../b/b.js")).b;\n',
    "a/c.ts": 'import(\n  "./d.js"\n).then(({ d }) => d);\n',
  });
  deepEqual(
    found.map((problem) => problem.split(":")[0]),
    ["a/a.ts -> b/b.ts", "a/c.ts -> a/d.ts"],
  );
});

test("a dynamic import of a computed path is found", (t) => {
  const code = "const load = () => import(`./a.js`);\n";
  deepEqual(problemsOf(t, { "a/a.ts": code }), ["a/a.ts: a dynamic import of a computed path"]);
});

test("types, packages and node's modules are no seams", (t) => {
  const code = [
    'type A = typeof import("./b.js");',
    'type B = import("./b.js").B;',
    'const jose = () => import("jose");',
    'const fs = () => import("node:fs");',
    '// import("./b.js")',
  ];
  deepEqual(problemsOf(t, { "a/a.ts": code.join("\n") }), []);
});

test("a listed seam passes once, and one that is gone is found", (t) => {
  const files = { "a/a.ts": 'const b = () => import("./b.js");\n' };
  deepEqual(problemsOf(t, files, [["a/a.ts", "a/b.ts"]]), []);
  deepEqual(problemsOf(t, { "a/a.ts": "" }, [["a/a.ts", "a/b.ts"]]), [
    "a/a.ts -> a/b.ts: listed in scripts/check-house.mjs, but src has no such import",
  ]);
});

test("a sixth seam is found", (t) => {
  const files = { "a/a.ts": [1, 2, 3, 4, 5, 6].map((number) => `import("./${number}.js");\n`).join("") };
  const seams = [1, 2, 3, 4, 5, 6].map((number) => ["a/a.ts", `a/${number}.ts`] as const);
  deepEqual(problemsOf(t, files, seams), []);
  deepEqual(problemsOf(t, files, ...seams.map((seam) => [seam])), ["6 seams; 5 are allowed"]);
  equal(problemsOf(t, files, ...seams.slice(1).map((seam) => [seam])).length, 1);
});
