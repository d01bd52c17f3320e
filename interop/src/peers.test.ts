import { deepEqual, equal } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = fileURLToPath(new URL("./run.js", import.meta.url));
/** Runs the suite where no toolchain is found. */
const runWithout = (...args: string[]) =>
  promisify(execFile)(process.execPath, [run, ...args], {
    env: { PATH: fileURLToPath(new URL(".", import.meta.url)) },
  });

test("a peer without its toolchain is left out, with a line that tells why, and is no failure", async () => {
  const { stdout } = await runWithout("go -> bowline stdio", "rust -> bowline stdio", "java -> bowline stdio");
  const lines = stdout.split("\n").filter((line) => line.endsWith("peer left out"));
  deepEqual(lines.sort(), [
    "go: go not found, peer left out",
    "java: mvn not found, peer left out",
    "rust: cargo not found, peer left out",
  ]);
});

test("the report as JSON names the peers that were left out", async () => {
  const { stdout } = await runWithout("go -> bowline http", "--json");
  const { ok, missing, outcomes } = JSON.parse(stdout);
  equal(ok, true);
  deepEqual(missing, ["go: go not found"]);
  deepEqual(outcomes, []);
});
