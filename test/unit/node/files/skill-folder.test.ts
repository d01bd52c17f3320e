import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { connect } from "bowline/client";
import { skillFolder } from "bowline/node";
import { McpServer } from "bowline/server";
import { type Skill, skills } from "bowline/skills/server";
import { gate } from "../../../support/gate.js";

function folder(t: TestContext, files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), "skills-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) write(root, path, content);
  return root;
}

function write(root: string, path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const text = (name: string, description = "x") => `---\nname: ${name}\ndescription: ${description}\n---\n`;

test("files, empty directories and nested ones are read as they are", async (t) => {
  const root = folder(t, { "a/SKILL.md": "\uFEFFx\r\n", "a/deep/er/b.bin": Buffer.from([0, 255]), "loose.txt": "l" });
  mkdirSync(join(root, "a/empty"));
  const { files, emptyDirectories, refused } = await skillFolder(pathToFileURL(root)).read();
  deepEqual([...files.keys()].sort(), ["a/SKILL.md", "a/deep/er/b.bin", "loose.txt"]);
  deepEqual(Buffer.from(files.get("a/SKILL.md") ?? []), Buffer.from("\uFEFFx\r\n"));
  deepEqual(emptyDirectories, ["a/empty"]);
  deepEqual(refused, []);
});

test("hidden files and node_modules are ignored, or what the author says", async (t) => {
  const root = folder(t, { "a/SKILL.md": "x", "a/.env": "secret", ".git/config": "x", "a/node_modules/m/i.js": "x" });
  deepEqual([...(await skillFolder(root).read()).files.keys()], ["a/SKILL.md"]);
  const { files } = await skillFolder(root, { ignore: (path) => path === "a/SKILL.md" }).read();
  deepEqual([...files.keys()].sort(), [".git/config", "a/.env", "a/node_modules/m/i.js"]);
});

test("links and special files are not read, and their skill is not served", async (t) => {
  const outside = folder(t, { "secret.txt": "secret", "dir/SKILL.md": text("dir") });
  const root = folder(t, {
    "good/SKILL.md": text("good"),
    "link/SKILL.md": text("link"),
    "linked-dir/SKILL.md": text("linked-dir"),
    "pipe/SKILL.md": text("pipe"),
  });
  symlinkSync(join(outside, "secret.txt"), join(root, "link/secret.txt"));
  symlinkSync(join(outside, "dir"), join(root, "linked-dir/dir"));
  symlinkSync(join(outside, "dir"), join(root, "dir"));
  const socket = createServer().listen(join(root, "pipe/socket"));
  t.after(() => socket.close());
  await once(socket, "listening");
  const extension = skills(skillFolder(root));
  await extension.reload();
  deepEqual(
    extension.entries.map(({ frontmatter }) => frontmatter.name),
    ["good"],
  );
  const problems = extension.problems.map(({ path, message }) => `${path}: ${message}`);
  deepEqual(problems, [
    "dir: is a symbolic link, and links are not followed",
    "link/SKILL.md: the skill is not served because of link/secret.txt: is a symbolic link, and links are not followed",
    "linked-dir/SKILL.md: the skill is not served because of linked-dir/dir: is a symbolic link, and links are not followed",
    "pipe/SKILL.md: the skill is not served because of pipe/socket: is not a regular file",
  ]);
});

/** Replaces what opens files: `around` runs in its place and gets the real function. */
function onOpen(t: TestContext, around: (path: string, open: () => Promise<fs.FileHandle>) => Promise<fs.FileHandle>) {
  const { open } = fs;
  t.mock.method(fs, "open", (path: string, flags: number) => around(path, () => open(path, flags)));
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test("a directory that is a link only while a file in it is opened is not followed", async (t) => {
  const outside = folder(t, { "SKILL.md": "secret", "z.md": "secret" });
  const root = folder(t, { "a/SKILL.md": text("a"), "b/SKILL.md": text("b"), "b/z.md": "ours" });
  const [place, aside] = [join(root, "b"), join(root, ".aside")];
  let attacks = 0;
  let most = Number.POSITIVE_INFINITY;
  // The files of a folder are read together. The attack must not hit the other one.
  const other = gate();
  onOpen(t, async (path, open) => {
    if (path === join(place, "SKILL.md")) {
      const file = await open();
      const close = file.close.bind(file);
      file.close = () => close().finally(() => other.open());
      return file;
    }
    if (path !== join(place, "z.md") || attacks >= most) return open();
    await other.opened;
    attacks++;
    renameSync(place, aside);
    symlinkSync(outside, place);
    try {
      return await open();
    } finally {
      rmSync(place);
      renameSync(aside, place);
    }
  });
  const source = skillFolder(root, { watch: false });
  const { files, refused } = await source.read();
  deepEqual([...files.keys()].sort(), ["a/SKILL.md", "b/SKILL.md"]);
  equal(Buffer.from(files.get("b/SKILL.md") ?? []).toString(), text("b"));
  deepEqual(refused, [{ path: "b/z.md", message: "is replaced while it is read, or is behind a symbolic link" }]);
  equal(attacks, 3);
  // Once it stays away from the folder, the file is read.
  [attacks, most] = [0, 1];
  equal(Buffer.from((await source.read()).files.get("b/z.md") ?? []).toString(), "ours");
});

test("a file that is saved while it is opened is read as it was saved", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a"), "new": text("a", "new") });
  let saves = 0;
  onOpen(t, async (path, open) => {
    const file = await open();
    if (path.endsWith("SKILL.md") && saves++ === 0) renameSync(join(root, "new"), path);
    return file;
  });
  const { files, refused } = await skillFolder(root, { watch: false }).read();
  equal(Buffer.from(files.get("a/SKILL.md") ?? []).toString(), text("a", "new"));
  deepEqual(refused, []);
});

test("a directory that becomes a link while the folder is read is not followed", async (t) => {
  const outside = folder(t, { "SKILL.md": text("b"), "secret.txt": "secret" });
  const root = folder(t, { "a/SKILL.md": text("a"), "b/SKILL.md": text("b") });
  const ignore = (path: string) => {
    // The root has been listed, and b has not.
    if (path === "a/SKILL.md") {
      rmSync(join(root, "b"), { recursive: true });
      symlinkSync(outside, join(root, "b"));
    }
    return false;
  };
  const { files, refused } = await skillFolder(root, { ignore }).read();
  deepEqual([...files.keys()], ["a/SKILL.md"]);
  deepEqual(refused, [{ path: "b", message: "is a symbolic link, and links are not followed" }]);
});

test("a directory that cannot be read does not take the other skills along", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a"), "b/SKILL.md": text("b"), "b/c/x.md": "x" });
  const ignore = (path: string) => {
    if (path === "a/SKILL.md") {
      rmSync(join(root, "b/c"), { recursive: true, force: true });
      rmSync(join(root, "b"), { recursive: true, force: true });
      write(root, "b", "now a file");
    }
    return false;
  };
  const { files, refused } = await skillFolder(root, { ignore }).read();
  deepEqual([...files.keys()], ["a/SKILL.md"]);
  deepEqual(refused, [{ path: "b", message: "cannot be read: ENOTDIR" }]);
});

test("names that are not UTF-8 are refused", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a"), "b/SKILL.md": text("b") });
  const named = (path: string) => Buffer.concat([Buffer.from(join(root, path)), Buffer.from([0xff])]);
  writeFileSync(named("a/x"), "x");
  mkdirSync(named("b/x"));
  const { files, emptyDirectories, refused } = await skillFolder(root).read();
  deepEqual([...files.keys()], ["a/SKILL.md", "b/SKILL.md"]);
  deepEqual(emptyDirectories, []);
  deepEqual(refused, [
    { path: "a/x\uFFFD", message: "has a name that is not UTF-8" },
    { path: "b/x\uFFFD", message: "has a name that is not UTF-8" },
  ]);
});

test("a folder that is missing, too large or has too many files says so", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a"), "a/b.txt": "12345" });
  await rejects(skillFolder(join(root, "none")).read(), { code: "skill_folder", message: /none: ENOENT/ });
  const server = new McpServer({ name: "s", version: "1" });
  t.after(() => server.close());
  throws(() => server.extend(skills(skillFolder(join(root, "none")))), {
    code: "skill_folder",
    message: /none: cannot be watched: ENOENT/,
  });
  const small = skillFolder(root, { limits: { maxFolderBytes: 20 } });
  await rejects(small.read(), /: has more than 20 bytes; raise limits.maxFolderBytes or ignore some/);
  const few = skillFolder(root, { limits: { maxFolderFiles: 1 } });
  await rejects(few.read(), /: has more than 1 files; raise limits.maxFolderFiles or ignore some/);
});

test("a file that did not change is not read again", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a"), "a/b.txt": "1" });
  const source = skillFolder(root);
  const before = (await source.read()).files;
  write(root, "a/b.txt", "2");
  const after = (await source.read()).files;
  equal(after.get("a/SKILL.md"), before.get("a/SKILL.md"));
  equal(Buffer.from(after.get("a/b.txt") ?? []).toString(), "2");
});

test("a change of a file is served and announced", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a") });
  const server = new McpServer({ name: "s", version: "1" }).extend(skills(skillFolder(root)));
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  // The watch of a folder does not keep a process running.
  const running = setInterval(() => {}, 60_000);
  t.after(() => clearInterval(running));
  const watch = await client.watch({ resourcesListChanged: true });
  await client.request("skills/list");
  write(root, "b/SKILL.md", text("b"));
  const seen = watch[Symbol.asyncIterator]();
  let names: readonly string[] = [];
  // A change may be seen in two parts: the directory, then the file.
  while (!names.includes("b")) {
    await seen.next();
    const { skills: found } = await client.request("skills/list");
    names = (found as readonly Skill[]).map(({ frontmatter }) => frontmatter.name);
  }
  deepEqual(names, ["a", "b"]);
});

test("a directory that replaces another one is watched", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a", "first") });
  const server = new McpServer({ name: "s", version: "1" }).extend(skills(skillFolder(root)));
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  const running = setInterval(() => {}, 60_000);
  t.after(() => clearInterval(running));
  const watch = await client.watch({ resourcesListChanged: true });
  const seen = watch[Symbol.asyncIterator]();
  const reach = async (description: string) => {
    let now: unknown;
    while (now !== description) {
      const { skills: found } = await client.request("skills/list");
      now = (found as readonly Skill[])[0]?.frontmatter.description;
      if (now !== description) await seen.next();
    }
  };
  await reach("first");
  write(root, "b/SKILL.md", text("a", "second"));
  renameSync(join(root, "a"), join(root, ".old"));
  renameSync(join(root, "b"), join(root, "a"));
  rmSync(join(root, ".old"), { recursive: true });
  await reach("second");
  write(root, "a/SKILL.md", text("a", "third"));
  await reach("third");
});

test("closing the server ends the watch", async (t) => {
  const root = folder(t, { "a/SKILL.md": text("a") });
  let stopped = 0;
  const source = skillFolder(root);
  const watched = { ...source, watch: () => () => void stopped++ };
  const server = new McpServer({ name: "s", version: "1" }).extend(skills(watched));
  await server.close();
  equal(stopped, 1);
});

test("entries and contents agree while the folder is replaced under readers", async (t) => {
  const root = folder(t);
  const version = (number: number) => {
    for (let index = 0; index < 20; index++) {
      write(root, `s${index}/SKILL.md`, text(`s${index}`, `version ${number}`));
      write(root, `s${index}/data.txt`, `data ${number} of ${index}`);
    }
  };
  version(0);
  const extension = skills(skillFolder(root, { watch: false }));
  const server = new McpServer({ name: "s", version: "1" }).extend(extension);
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  const digest = (content: string) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
  let reloading = true;
  let reads = 0;
  const reader = async () => {
    while (reloading || reads < 100) {
      // Calls in memory take no turn of the event loop, which the folder needs.
      await new Promise(setImmediate);
      const { skills: found } = await client.request("skills/list");
      equal((found as readonly Skill[]).length, 20, "no skill is ever missing");
      const versions = new Set((found as readonly Skill[]).map(({ frontmatter }) => frontmatter.description));
      equal(versions.size, 1, "the catalogue is of one load");
      const entry = (found as readonly Skill[])[reads % 20];
      ok(entry !== undefined && entry.resources !== "dynamic");
      const [content] = (await client.readResource(entry.uri)).contents;
      ok(content !== undefined && "text" in content);
      const now = (await client.request("skills/get", { uri: entry.uri })).skill as Skill;
      const digests = [entry, now].flatMap(({ resources }) =>
        resources === "dynamic" ? [] : (resources[0]?.digest ?? []),
      );
      ok(digests.includes(digest(content.text)), "the content is of an entry just before or after it");
      reads++;
    }
  };
  const readers = [reader(), reader()];
  for (let number = 1; number <= 10; number++) {
    version(number);
    await extension.reload();
  }
  reloading = false;
  await Promise.all(readers);
  ok(reads >= 100);
});

test("a folder of 500 skills is listed in less than 5 ms once it is loaded", async (t) => {
  const files = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [
      [`skill-${index}/SKILL.md`, text(`skill-${index}`)],
      [`skill-${index}/references/notes.md`, `notes ${index}`],
    ]).flat(),
  ) as Record<string, string>;
  const extension = skills(skillFolder(folder(t, files), { watch: false }), { pageSize: 500 });
  const server = new McpServer({ name: "s", version: "1" }).extend(extension);
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  const list = async () => {
    const start = performance.now();
    const { skills: found } = await client.request("skills/list");
    equal((found as readonly unknown[]).length, 500);
    return performance.now() - start;
  };
  await list();
  const times: number[] = [];
  for (let round = 0; round < 20; round++) times.push(await list());
  // The fastest of many, since other tests run at the same time.
  const best = Math.min(...times);
  ok(best < 5, `${best} ms`);
});
