import { deepEqual, equal, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs, { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, isResourceNotFound } from "bowline/client";
import { fileResource } from "bowline/node";
import { McpServer } from "bowline/server";
import { proves } from "../../../support/verifies.js";

/** All ways out of the folder, as a client may write them. */
const WAYS_OUT = [
  "../secret/key",
  "..%2fsecret/key",
  "%2e%2e/secret/key",
  "docs/%2E%2E/%2e%2e/secret/key",
  "%252e%252e/secret/key",
  "..\\secret\\key",
  "..%5csecret%5ckey",
  "/etc/hostname",
  "%2fetc%2fhostname",
  "docs/a.md%00",
  "%00",
  "out/key",
  "link",
  "docs",
  "",
];

for (const era of ["modern", "legacy"] as const) {
  for (const unsafePaths of [false, true]) {
    test(`a folder of files cannot be walked out of (${era}, ${unsafePaths ? "un" : ""}checked variables)`, async (t) => {
      const home = await mkdtemp(join(tmpdir(), "bowline-"));
      t.after(() => rm(home, { recursive: true }));
      await Promise.all([mkdir(join(home, "app", "docs"), { recursive: true }), mkdir(join(home, "secret"))]);
      await Promise.all([
        writeFile(join(home, "app", "docs", "a.md"), "# a"),
        writeFile(join(home, "app", "docs", "b.bin"), new Uint8Array([0, 255])),
        writeFile(join(home, "secret", "key"), "key"),
        symlink(join(home, "secret"), join(home, "app", "out")),
        symlink(join(home, "secret", "key"), join(home, "app", "link")),
      ]);
      const server = new McpServer({ name: "files", version: "1" }, { resources: { unsafePaths } });
      server.resource("app:///{+path}", { name: "files" }, fileResource(join(home, "app")));
      const client = await connect(server, { era });
      t.after(() => client.close());
      const read = async (path: string) => (await client.readResource(`app:///${path}`)).contents[0];
      equal(((await read("docs/a.md")) as { text?: string }).text, "# a");
      deepEqual(((await read("docs/b.bin")) as { blob?: string }).blob, "AP8=");
      for (const path of WAYS_OUT) await rejects(read(path), isResourceNotFound, path);
    });
  }
}

const NOT_FOUND = { message: "Resource not found" };

/** Creates a folder with a file, a secret beside it, and a reader of the folder. */
async function createFolder(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), "bowline-"));
  t.after(() => rm(home, { recursive: true }));
  await Promise.all([mkdir(join(home, "app", "docs"), { recursive: true }), mkdir(join(home, "secret"))]);
  await writeFile(join(home, "app", "docs", "a.md"), "ours");
  await writeFile(join(home, "secret", "a.md"), "secret");
  const read = fileResource(join(home, "app"));
  return { home, read: (path: string) => read({ path }, undefined, `app:///${path}`) };
}

/** Calls `before` before a file is opened, and `after` when it is open. */
function onOpen(t: TestContext, before: () => Promise<void>, after: () => Promise<void>): void {
  const { open } = fs;
  t.mock.method(fs, "open", async (path: string, flags: number) => {
    await before();
    try {
      return await open(path, flags);
    } finally {
      await after();
    }
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

proves("resources:file:safe-join", {}, "through a folder that is a link only while a file is opened", async (t) => {
  const { home, read } = await createFolder(t);
  const [place, aside] = [join(home, "app", "docs"), join(home, "aside")];
  let attacks = 0;
  let most = Number.POSITIVE_INFINITY;
  let swapped = false;
  const swap = async () => {
    if (attacks >= most) return;
    attacks++;
    swapped = true;
    await rename(place, aside);
    await symlink(join(home, "secret"), place);
  };
  const swapBack = async () => {
    if (!swapped) return;
    swapped = false;
    await rm(place);
    await rename(aside, place);
  };
  onOpen(t, swap, swapBack);
  await rejects(read("docs/a.md"), NOT_FOUND);
  equal(attacks > 0, true);
  // Once it stays away from the folder, the file is read.
  [attacks, most] = [0, 1];
  equal(await read("docs/a.md"), "ours");
});

test("a file that is saved while it is opened is read as it was saved", async (t) => {
  const { home, read } = await createFolder(t);
  await writeFile(join(home, "app", "new"), "new");
  let saves = 0;
  const save = async () => {
    if (saves++ === 0) await rename(join(home, "app", "new"), join(home, "app", "docs", "a.md"));
  };
  onOpen(t, async () => {}, save);
  equal(await read("docs/a.md"), "new");
});

test("what is no regular file is not found, and nobody waits for the writer of a pipe", async (t) => {
  const { home, read } = await createFolder(t);
  execFileSync("mkfifo", [join(home, "app", "pipe")]);
  await rejects(read("pipe"), NOT_FOUND);
});
