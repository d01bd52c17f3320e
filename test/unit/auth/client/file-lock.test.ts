import { deepEqual, equal, rejects } from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { withFileLock } from "#src/node/files/store.js";
import { gate } from "../../../support/gate.js";

async function lockPath(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bowline-lock-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "lock");
}

/** A lock whose holder died a minute ago. */
async function abandon(path: string): Promise<void> {
  await writeFile(path, "dead");
  const past = new Date(Date.now() - 60_000);
  await utimes(path, past, past);
}

test("of many, one at a time holds the lock, also when a dead holder left it behind", async (t) => {
  const path = await lockPath(t);
  await abandon(path);
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await readFile(path);
    inside--;
  };
  await Promise.all(Array.from({ length: 20 }, () => withFileLock(path, work)));
  equal(most, 1);
  deepEqual(await readdir(join(path, "..")), []);
});

test("a holder that was overtaken leaves its successor's lock alone", async (t) => {
  const path = await lockPath(t);
  await withFileLock(path, () => writeFile(path, "the successor's"));
  equal(await readFile(path, "utf8"), "the successor's");
});

test("work that fails gives the lock back, and who waits for it can give up", async (t) => {
  const path = await lockPath(t);
  const broken = new Error("broken");
  await rejects(
    withFileLock(path, () => Promise.reject(broken)),
    broken,
  );
  const [held, release] = [gate(), gate()];
  const first = withFileLock(path, async () => {
    held.open();
    await release.opened;
  });
  await held.opened;
  const abort = new AbortController();
  const second = withFileLock(path, () => Promise.reject(new Error("never runs")), abort.signal);
  abort.abort("enough");
  await rejects(second, (reason) => reason === "enough");
  release.open();
  await first;
  deepEqual(await readdir(join(path, "..")), []);
});
