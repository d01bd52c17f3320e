import { equal } from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../../../", import.meta.url));

test("a folder of skills is refused where it is defined, if the package yaml is missing", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const own = join(folder, "node_modules/bowline");
  mkdirSync(own, { recursive: true });
  cpSync(join(root, "package.json"), join(own, "package.json"));
  const isCode = (path: string) => !/\.(map|d\.ts|tsbuildinfo)$/.test(path);
  cpSync(join(root, "dist"), join(own, "dist"), { recursive: true, filter: isCode });
  const program = `
    import { skillFolder } from "bowline/node";
    import { skills } from "bowline/skills/server";
    try { skills(skillFolder(".")); console.log("defined"); } catch (error) { console.log(error.code + ": " + error.message); }`;
  const run = async () => {
    const args = ["--input-type=module", "-e", program];
    return (await promisify(execFile)(process.execPath, args, { cwd: folder })).stdout.trim();
  };
  equal(await run(), "definition_error: skillFolder: reading SKILL.md needs the package yaml: npm install yaml");
  cpSync(join(root, "node_modules/yaml"), join(folder, "node_modules/yaml"), { recursive: true });
  equal(await run(), "defined");
});
