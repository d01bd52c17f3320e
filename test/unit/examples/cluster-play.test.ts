import { equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../../../examples/dist/cluster/play.js", import.meta.url));
const play = (...args: string[]) =>
  spawnSync(process.execPath, [program, ...args], { env: { PATH: "/nowhere" }, encoding: "utf8", timeout: 30_000 });

test("a missing program is told in one line, with its package and the way by Docker", () => {
  const { status, stderr } = play();
  equal(status, 1);
  match(stderr, /^redis-server was not found: .*apt-get install redis-server.*docker compose -f \S+ up\n$/);
});

test("an unknown engine and a wrong time are told in one line", () => {
  for (const args of [["mongo"], ["--for", "soon"]]) {
    const { status, stderr } = play(...args);
    equal(status, 1);
    match(stderr, /^usage: play\.js \[redis \| postgres \| sqlite\] \[--for SECONDS\]\n$/);
  }
});
