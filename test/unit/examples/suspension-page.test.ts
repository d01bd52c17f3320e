import { equal } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

test("the program about catch and finally in docs/servers.md prints what the page shows", () => {
  const page = readFileSync(`${root}/docs/servers.md`, "utf8");
  const section = page.slice(page.indexOf("### What catch and finally see"));
  const [, program = "", , output] = section.split(/^```\w*\n/m);
  const { code } = transformSync(program, { loader: "ts", format: "esm", target: "esnext" });
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    cwd: root,
    encoding: "utf8",
  });
  equal(stderr, "");
  equal(stdout, output);
});
