import { doesNotMatch, equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

test("the demonstration shows both clients the same, uses no colours in a pipe, and ends", async () => {
  const program = fileURLToPath(new URL("../../../../examples/dist/demo.js", import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], { timeout: 240_000 });
  const [, ...visits] = stdout.split("\nA client of ");
  equal(visits.length, 2);
  for (const visit of visits) {
    match(visit, /={20} line 4 made fast\n {5}\{"ship":"Aurora","berth":"north","lines":4\}\n/);
    match(visit, /berth:\/\/north is now Aurora\n/);
    match(visit, /\? Let Aurora go from north\? yes\n {5}Aurora is off\n/);
    match(visit, /the call ended with "that is loud enough" after [\d.]+ ms, the tool stopped after [\d.]+ ms/);
    match(visit, /and 0 calls are left behind\n/);
  }
  match(stdout, /the server still holds \{("\w+":0,?)+\}\.\n/);
  const [, killed = ""] = /kill -9 (\d+)\n/.exec(stdout) ?? [];
  match(stdout, new RegExp(`13 m in process ${killed}, 16 m in process ${killed}, 19 m in process (?!${killed})`));
  equal(stdout.includes("\u001b"), false);
  doesNotMatch(stderr, /./);
});
