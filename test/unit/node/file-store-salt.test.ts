import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileStore } from "bowline/node";
import { withFileLock } from "#src/node/files/store.js";

function inFolder(t: TestContext, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-store-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, name);
}

test("the salt of a store stays from one write to the next, and the nonce does not", async (t) => {
  const path = inFolder(t, "tokens");
  const store = fileStore(path, "secret");
  await store.set("a", { value: 1 });
  const first = readFileSync(path);
  await store.set("a", { value: 1 });
  const second = readFileSync(path);
  const salted = "bowline-store-1".length + 16;
  deepEqual(first.subarray(0, salted), second.subarray(0, salted));
  notDeepEqual(first.subarray(salted, salted + 12), second.subarray(salted, salted + 12));
  deepEqual(await fileStore(path, "secret").get("a"), { value: 1 });
});

test("the lock of a dead process is taken over, also after a process that died while it did so", async (t) => {
  const path = inFolder(t, "lock");
  const longAgo = new Date(Date.now() - 60_000);
  for (const file of [path, `${path}.reap`]) {
    writeFileSync(file, "dead");
    utimesSync(file, longAgo, longAgo);
  }
  equal(await withFileLock(path, async () => readFileSync(path, "utf8") !== "dead"), true);
  deepEqual([existsSync(path), existsSync(`${path}.reap`)], [false, false]);
});
