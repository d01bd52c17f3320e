import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bowline, documentOf, emptyFolder } from "../support/command.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Folder in which programs find the packages of this project. */
function folderInside(t: TestContext): string {
  mkdirSync(join(root, "build"), { recursive: true });
  const folder = mkdtempSync(join(root, "build", "template-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a program of Node. The test runner of the project is not that of the template. */
function node(cwd: string, ...args: string[]): Promise<{ readonly ok: boolean; readonly output: string }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) =>
    execFile(process.execPath, args, { cwd, env }, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stdout + stderr }),
    ),
  );
}

for (const template of ["stdio", "http", "host"])
  for (const form of ["ts", "js"] as const)
    test(`the template ${template} compiles and passes its tests (${form})`, async (t) => {
      const cwd = folderInside(t);
      const more = form === "js" ? ["--js"] : [];
      const ran = await bowline(t, ["init", "weather", "--template", template, "--json", ...more], { cwd });
      const { result } = documentOf(ran, "project") as { result: { files: string[] } };
      const folder = join(cwd, "weather");
      deepEqual(readdirSync(folder).sort(), result.files.sort());
      ok(result.files.length <= 5);
      for (const file of result.files) ok(!/\{\{\w+\}\}/.test(readFileSync(join(folder, file), "utf8")), file);
      const main = template === "host" ? "host" : "server";
      if (form === "ts") {
        const compiled = await node(folder, join(root, "node_modules/typescript/bin/tsc"));
        ok(compiled.ok, compiled.output);
      }
      const tested = await node(folder, "--test", form === "ts" ? `dist/${main}.test.js` : `${main}.test.js`);
      ok(tested.ok, tested.output);
      match(tested.output, /# pass [12]\n/);
    });

test("a folder that has a file of the template is left as it is", async (t) => {
  const cwd = emptyFolder(t);
  equal((await bowline(t, ["init"], { cwd })).code, 0);
  const again = await bowline(t, ["init", "--template", "host"], { cwd });
  deepEqual([again.code, readdirSync(cwd).includes("host.ts")], [2, false]);
  match(again.stderr, /already has package\.json, tsconfig\.json, README\.md; choose another folder/);
});
