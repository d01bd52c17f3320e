import { deepEqual, equal, rejects } from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, isResourceNotFound } from "bowline/client";
import { fileResource } from "bowline/node";
import { McpServer } from "bowline/server";

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
