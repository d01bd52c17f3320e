import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const settings = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "es2023",
    module: "nodenext",
    moduleResolution: "nodenext",
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: [],
  },
};

/** Compiles files by `tsc --strict`, in a folder in which `bowline` can be imported. Returns the messages of the compiler. */
export function compileTypes(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  mkdirSync(join(root, "build"), { recursive: true });
  const folder = mkdtempSync(join(root, "build", "types-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...settings, include: ["*.ts"] }));
  const program = join(root, "node_modules/typescript/bin/tsc");
  return new Promise((resolve) => {
    execFile(process.execPath, [program, "-p", folder, "--pretty", "false"], { cwd: root }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
