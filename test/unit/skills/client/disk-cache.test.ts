import { deepEqual, equal } from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { skillCache } from "bowline/node";

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "skill-cache-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const digest = (digit: string) => `sha256:${digit.repeat(64)}`;
const key = (name: string, server = "docs") => ({ server, uri: `skill://${name}/SKILL.md`, digest: digest("a") });
const bytes = (length: number) => new Uint8Array(length).fill(7);

async function pathsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

test("a cache on disk removes its oldest files when it is full", async (t) => {
  const folder = await temporary(t);
  const cache = skillCache(folder, { localSkills: [], limits: { maxCacheBytes: 100 } });
  await cache.set(key("first"), bytes(40));
  for (const path of await pathsIn(folder)) await utimes(path, 1, 1);
  await cache.set(key("second"), bytes(40));
  await cache.set(key("third"), bytes(40));
  const kept = await Promise.all(
    ["first", "second", "third"].map(async (name) => (await cache.get(key(name)))?.length),
  );
  deepEqual(kept, [undefined, 40, 40]);
  await cache.set(key("huge"), bytes(101));
  equal(await cache.get(key("huge")), undefined);
  equal((await cache.get(key("third")))?.length, 40);
});

test("a cache on disk counts the files of an earlier process and leaves foreign files alone", async (t) => {
  const folder = await temporary(t);
  await skillCache(folder, { localSkills: [] }).set(key("old"), bytes(90));
  for (const path of await pathsIn(folder)) await utimes(path, 1, 1);
  await mkdir(join(folder, "mine"));
  await writeFile(join(folder, "mine", "notes.txt"), "x".repeat(500));
  const cache = skillCache(folder, { localSkills: [], limits: { maxCacheBytes: 100 } });
  await cache.set(key("new"), bytes(90));
  deepEqual([await cache.get(key("old")), (await cache.get(key("new")))?.length], [undefined, 90]);
  deepEqual(await readdir(join(folder, "mine")), ["notes.txt"]);
});

test("a cache on disk gives each server a folder of its own, whatever its name", async (t) => {
  const folder = await temporary(t);
  const cache = skillCache(join(folder, "cache"), { localSkills: [] });
  const names = ["a", "A", "a/", "..", "../..", "a\0", "con", "ä", "", "x".repeat(300), "a\\b", "a b", "a-b"];
  for (const [index, server] of names.entries()) await cache.set(key("pdf", server), bytes(index + 1));
  for (const [index, server] of names.entries())
    equal((await cache.get(key("pdf", server)))?.length, index + 1, server);
  deepEqual(await readdir(folder), ["cache"]);
  const folders = await readdir(join(folder, "cache"));
  equal(new Set(folders.map((name) => name.toLowerCase())).size, names.length);
  await cache.deleteServer("..");
  equal(await cache.get(key("pdf", "..")), undefined);
  equal((await cache.get(key("pdf", "a")))?.length, 1);
});

test("a cache on disk puts no digest that is a path into a path, and follows no link", async (t) => {
  const folder = await temporary(t);
  const cache = skillCache(join(folder, "cache"), { localSkills: [] });
  await cache.set({ ...key("pdf"), digest: "sha256:/../../../escaped" }, bytes(1));
  deepEqual(await readdir(folder), ["cache"]);
  await cache.set(key("pdf"), bytes(2));
  await writeFile(join(folder, "secret"), "secret");
  for (const path of await pathsIn(join(folder, "cache"))) {
    await rm(path);
    await symlink(join(folder, "secret"), path);
  }
  equal(await cache.get(key("pdf")), undefined);
});
