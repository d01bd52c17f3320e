import { deepEqual, equal, notEqual } from "node:assert/strict";
import { test } from "node:test";
import { guardStdout } from "#src/node/stdio/stdout-guard.js";

test("the last guard that is restored gives the standard output back, and a later guard takes it again", (t) => {
  const original = process.stdout.write;
  const written: string[] = [];
  t.mock.method(process.stderr, "write", (text: string) => {
    written.push(text);
    return true;
  });
  t.after(() => {
    process.stdout.write = original;
  });
  for (const round of ["first", "second"]) {
    const guard = guardStdout();
    notEqual(process.stdout.write, original, round);
    process.stdout.write(round);
    guard.restore();
    equal(process.stdout.write, original, round);
  }
  deepEqual(written, ["first", "second"]);
});
