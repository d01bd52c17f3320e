import { deepEqual, equal, match, throws } from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sqliteCluster } from "#src/entry/sqlite.js";
import { ownFile } from "#src/node/sqlite/own-file.js";
import { assertLocal } from "#src/node/sqlite/serve.js";
import { startThread } from "#src/node/sqlite/thread.js";
import { DefinitionError } from "#src/protocol/errors.js";

test("a version of Node without SQLite is refused with the remedy, and any other works", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-sqlite-"));
  t.after(() => rmSync(folder, { recursive: true }));
  let refusal: unknown;
  try {
    const cluster = sqliteCluster({ path: join(folder, "state.db") });
    await cluster.records.put("k", "v");
    await cluster.close();
  } catch (error) {
    refusal = error;
  }
  equal(refusal === undefined, isBuiltin("node:sqlite"));
  if (refusal === undefined) return;
  equal(refusal instanceof DefinitionError, true);
  const { message } = refusal as DefinitionError;
  match(message, new RegExp(`needs node:sqlite, which Node.js ${process.versions.node} does not have`));
  match(message, /use Node.js 22.13 or newer, or the engines of bowline\/redis or bowline\/postgres/);
});

test("a thread whose program is missing names the remedy", async () => {
  const url = new URL("./no-such-program.js", import.meta.url);
  const reason = await new Promise<Error>((resolve) => {
    startThread({ url, options: {}, close: "close" }, () => {}, resolve);
  });
  match(reason.message, /no-such-program.js does not exist; leave bowline out of the bundle/);
});

test("a file is created for its owner alone on a file system without hard links too", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-sqlite-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const failing = (code: string) => ({
    link: () => {
      throw Object.assign(new Error(code), { code });
    },
  });
  for (const code of ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]) {
    const path = join(folder, code);
    ownFile(path, failing(code));
    equal((statSync(path).mode & 0o777).toString(8), "600", code);
    // It exists now, and is left as it is.
    writeFileSync(path, "content");
    ownFile(path, failing(code));
    equal(readFileSync(path, "utf8"), "content");
  }
  const dangling = join(folder, "dangling");
  symlinkSync(join(folder, "none"), dangling);
  throws(() => ownFile(dangling, failing("EPERM")), /it is a link to a file that does not exist/);
  throws(() => ownFile(join(folder, "full"), failing("ENOSPC")), /unable to open database file \(Error: ENOSPC\)/);
  deepEqual(readdirSync(folder).toSorted(), ["ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EPERM", "dangling"]);
});

test("a file on a network file system is refused", () => {
  const [ext4, nfs, smb2] = [0xef53n, 0x6969n, -0x1acb2ben];
  assertLocal("/state.db", ext4);
  for (const type of [nfs, smb2])
    throws(() => assertLocal("/state.db", type), /state.db is on a network file system; use a path on a disk/);
});
