import { deepEqual } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadScript } from "./load-script.js";

const { compareOutputs } = await loadScript<{
  compareOutputs(root: string): {
    readonly sources: number;
    readonly strays: readonly string[];
    readonly missing: readonly string[];
  };
}>("scripts/lib/tools.mjs");

function compare(t: TestContext, files: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-outputs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const path of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), "");
  }
  const { sources, strays, missing } = compareOutputs(folder);
  const short = (paths: readonly string[]) => paths.map((path) => relative(folder, path).replaceAll("\\", "/"));
  return { sources, strays: short(strays), missing: short(missing) };
}

test("each output has a source, in folders of any name", (t) => {
  const files = [
    "src/client/cache/a.ts",
    "dist/client/cache/a.js",
    "dist/client/cache/a.d.ts",
    "dist/client/cache/a.js.map",
  ];
  const others = ["conformance/src/b.ts", "conformance/dist/b.js", "interop/src/c.ts", "interop/dist/src/c.js"];
  deepEqual(compare(t, [...files, ...others, "interop/cache/peer/d.ts"]), { sources: 3, strays: [], missing: [] });
});

test("outputs without a source, and sources without an output, are found", (t) => {
  const files = ["test/unit/a.ts", "build/test/unit/a.js", "build/test/unit/gone.js", "build/test/unit/gone.d.ts"];
  deepEqual(compare(t, [...files, "src/b.ts", "dist/b.d.ts", "src/types.d.ts"]), {
    sources: 2,
    strays: ["build/test/unit/gone.d.ts", "build/test/unit/gone.js"],
    missing: ["dist/b"],
  });
});

test("the outputs of this project are complete", () => {
  deepEqual(compareOutputs(fileURLToPath(new URL("../../../", import.meta.url))).missing, []);
});
