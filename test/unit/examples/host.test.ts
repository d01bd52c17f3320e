import { equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

test("the example of a host lists its tools, reports the server that is missing, and ends by itself", async () => {
  const program = fileURLToPath(new URL("../../../../examples/dist/host.js", import.meta.url));
  const { stdout, stderr } = await run(process.execPath, [program], { timeout: 240_000 });
  match(stdout, /^notes__write of notes: .*\nnotes__find of notes: /);
  match(stdout, /\nlost is left out: .*"a-program-that-nobody-installed": no such program/);
  match(stdout, /\n\{"found":\["berth"\]\}\nThe Aurora is at the north berth\.\n/);
  match(stdout, /\nthe tool says: No note contains "Borealis"\. There are: welcome, berth\n/);
  match(stdout, /\ncalling it anyway: ServerUnavailableError: /);
  equal(stderr, "");
});
