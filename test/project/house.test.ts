import { deepEqual, equal } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

type Seam = readonly [file: string, target: string];

interface Findings {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const { measure } = await loadScript<{
  measure(source: string, allowed: Readonly<Record<string, readonly Seam[]>>): Findings;
}>("scripts/check-house.mjs");

function findingsOf(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  ...seams: readonly (readonly Seam[])[]
): Findings {
  const source = mkdtempSync(join(tmpdir(), "bowline-house-"));
  t.after(() => rmSync(source, { recursive: true }));
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    writeFileSync(join(source, path), code);
  }
  const { problems, warnings } = measure(source, Object.fromEntries(seams.entries()));
  const short = (text: string) => text.replace(/.*bowline-house-\w+\//, "");
  return { problems: problems.map(short), warnings: warnings.map(short) };
}

function problemsOf(...args: Parameters<typeof findingsOf>) {
  return findingsOf(...args).problems;
}

test("a file of more than 450 lines is a warning", (t) => {
  const files = { "a/long.ts": "\n".repeat(451), "a/fits.ts": "\n".repeat(450) };
  deepEqual(findingsOf(t, files), { problems: [], warnings: ["a/long.ts: 451 lines; up to 450 are usual"] });
});

test("a folder of more than 23 files is a warning", (t) => {
  const fill = (folder: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/${index}.ts`, ""]));
  deepEqual(findingsOf(t, { ...fill("full", 24), ...fill("fits", 23), ...fill("fits/inner", 1) }), {
    problems: [],
    warnings: ["full: 24 files; up to 23 are usual"],
  });
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

test("a seventh seam is a warning", (t) => {
  const files = { "a/a.ts": [1, 2, 3, 4, 5, 6, 7].map((number) => `import("./${number}.js");\n`).join("") };
  const seams = [1, 2, 3, 4, 5, 6, 7].map((number) => ["a/a.ts", `a/${number}.ts`] as const);
  deepEqual(findingsOf(t, files, seams), { problems: [], warnings: [] });
  const apart = seams.map((seam) => [seam]);
  deepEqual(findingsOf(t, files, ...apart), { problems: [], warnings: ["7 seams; up to 6 are usual"] });
  equal(problemsOf(t, files, ...apart.slice(1)).length, 1);
});
