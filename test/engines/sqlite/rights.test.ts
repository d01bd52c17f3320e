import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ownFile } from "#src/node/sqlite/own-file.js";
import type { Scope } from "#src/testing/contract/world.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

const modeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode;
const rightsOf = (path: string) => ((modeOf(path) ?? 0) & 0o777).toString(8);

/** Rights of all files of a folder. */
function allRights(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, rightsOf(join(folder, name))]),
  );
}

function withUmask(t: Scope, mask: number): void {
  const before = process.umask(mask);
  t.after(() => process.umask(before));
}

const OWN = { "state.db": "600", "state.db-shm": "600", "state.db-wal": "600" };

for (const mask of [0o000, 0o022, 0o077]) {
  test(`the files that are created can be read by their owner only (umask ${mask.toString(8)})`, async (t) => {
    withUmask(t, mask);
    const world = new SqliteWorld(t);
    const seen = new Set<string>();
    const watcher = watch(world.folder, (_, name) => {
      const mode = name === null ? undefined : modeOf(join(world.folder, name));
      if (mode !== undefined) seen.add((mode & 0o777).toString(8));
    });
    t.after(() => watcher.close());
    const [one, other] = await Promise.all([world.node(), world.node()]);
    await one.records.put("auth/ann/tokens", "refresh token");
    deepEqual(allRights(world.folder), OWN);
    equal((await other.records.get("auth/ann/tokens"))?.value, "refresh token");
    await Promise.all([one.close(), other.close()]);
    deepEqual(
      [...seen].filter((rights) => rights !== "600"),
      [],
    );
  });
}

test("files that others can read are mended at the start, those beside the database too", async (t) => {
  const world = new SqliteWorld(t);
  const first = await world.node();
  t.after(() => first.close());
  await first.records.put("k", "v");
  for (const name of readdirSync(world.folder)) chmodSync(join(world.folder, name), 0o666);
  const second = await world.node();
  t.after(() => second.close());
  deepEqual(allRights(world.folder), OWN);
  equal((await second.records.get("k"))?.value, "v");
  await first.records.put("k", "w");
  equal((await second.records.get("k"))?.value, "w");
});

test("a database behind a link is mended with the files beside it", async (t) => {
  const world = new SqliteWorld(t);
  const target = join(world.folder, "target.db");
  writeFileSync(target, "", { mode: 0o644 });
  symlinkSync(target, world.path);
  const node = await world.node();
  t.after(() => node.close());
  await node.records.put("k", "v");
  deepEqual(
    Object.values(allRights(world.folder)).filter((rights) => rights !== "600"),
    [],
  );
});

test("a link to a file that does not exist is refused, and nothing is left", async (t) => {
  const world = new SqliteWorld(t);
  symlinkSync(join(world.folder, "target.db"), world.path);
  await rejects(world.node(), { failure: "unavailable", message: /it is a link to a file that does not exist/ });
  deepEqual(readdirSync(world.folder), ["state.db"]);
});

test("a directory is refused, and keeps its rights", async (t) => {
  const world = new SqliteWorld(t);
  mkdirSync(world.path, { mode: 0o755 });
  await rejects(world.node(), { failure: "unavailable", message: /unable to open database file/ });
  equal(rightsOf(world.path), "755");
});

test("a file is refused whose rights cannot be changed", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-rights-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state.db");
  writeFileSync(path, "");
  chmodSync(path, 0o640);
  const message = /state\.db is open to other users \(mode 640\), and its rights cannot be changed; .*chmod 600/;
  const denied = () => {
    throw Object.assign(new Error("not permitted"), { code: "EPERM" });
  };
  throws(() => ownFile(path, { chmod: denied }), message);
  // Some file systems accept each change and keep their own rights.
  throws(() => ownFile(path, { chmod: () => {} }), message);
  equal(rightsOf(path), "640");
  ownFile(path);
  match(rightsOf(path), /^600$/);
});
