import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { skillCache } from "bowline/node";
import { SkillCatalogue } from "bowline/skills/client";
import { eachWire, type RecordedClient } from "../../support/each-wire.js";
import { readsOf, SkillScript } from "../../support/scripted-skills.js";
import { proves, verifies } from "../../support/verifies.js";

const PDF = "skill://pdf/SKILL.md";

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "skill-cache-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** All files below a folder, with their paths in it. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Loads a skill of a server through a new cache object, as after a restart of the host. */
async function loadThrough(folder: string, server: string, client: RecordedClient) {
  const cache = skillCache(folder, { localSkills: [] });
  const catalogue = new SkillCatalogue({ [server]: client }, { approve: () => true, cache });
  const held = await catalogue.load({ server, uri: PDF });
  return held.read("a.md");
}

function scripted(content: string): SkillScript {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": content });
  return script;
}

verifies("skills:host:cache", "keeps verified files with their origin", eachWire, async ({ connect }, t) => {
  const folder = join(await temporary(t), "cache");
  const client = await connect(scripted("a").server());
  await loadThrough(folder, "docs", client);
  const again = await connect(scripted("a").server());
  const file = await loadThrough(folder, "docs", again);
  deepEqual([file.text, file.server, file.verified, file.mimeType], ["a", "docs", true, "text/markdown"]);
  deepEqual([readsOf(client).length, readsOf(again)], [2, []]);
  // Another server gets nothing of it, although its files are equal.
  const other = await connect(scripted("a").server());
  equal((await loadThrough(folder, "Docs", other)).server, "Docs");
  equal(readsOf(other).length, 2);
  const paths = await filesIn(folder);
  equal(paths.length, 4);
  deepEqual(new Set(paths.map((path) => /server-(\w+)-/.exec(path)?.[1])), new Set(["docs", "Docs"]));
  ok(paths.every((path) => !/SKILL\.md|\.md$/.test(path)));
  for (const path of paths) equal((await stat(path)).mode & 0o777, 0o600);
});

verifies("skills:host:cache", "verifies each file at each use", eachWire, async ({ connect }, t) => {
  const folder = await temporary(t);
  await loadThrough(folder, "docs", await connect(scripted("good").server()));
  for (const evil of ["evil", "evil and longer", ""]) {
    for (const path of await filesIn(folder)) {
      await chmod(path, 0o600);
      await writeFile(path, evil);
    }
    const client = await connect(scripted("good").server());
    equal((await loadThrough(folder, "docs", client)).text, "good");
    equal(readsOf(client).length, 2);
    ok(
      (await Promise.all((await filesIn(folder)).map((path) => readFile(path, "utf8")))).every((text) => text !== evil),
    );
  }
  const last = await connect(scripted("good").server());
  await loadThrough(folder, "docs", last);
  deepEqual(readsOf(last), []);
});

verifies("skills:host:cache", "keeps nothing that was not verified", eachWire, async ({ connect }, t) => {
  const folder = await temporary(t);
  const script = scripted("good");
  const client = await connect(script.server());
  script.files.set("skill://pdf/a.md", "evil");
  await rejects(loadThrough(folder, "docs", client), { code: "skill_mismatch" });
  const [kept = ""] = await filesIn(folder);
  equal((await filesIn(folder)).length, 1);
  // A bad file is dropped, also if the server has no better one.
  await writeFile(kept, "evil");
  script.files.set(PDF, "evil");
  await rejects(loadThrough(folder, "docs", await connect(script.server())), { code: "skill_mismatch" });
  deepEqual(await filesIn(folder), []);
});

proves("skills:host:cache", {}, "refuses a folder in or around local skills", async (t) => {
  const root = await temporary(t);
  const local = join(root, "skills");
  await mkdir(local);
  await symlink(local, join(root, "link"));
  const refused = { name: "DefinitionError", message: /outside of the folder of local skills/ };
  for (const folder of [local, join(local, "cache"), root, join(root, "link"), join(root, "link", "new", "cache")])
    throws(() => skillCache(folder, { localSkills: [join(root, "elsewhere"), local] }), refused, folder);
  throws(() => skillCache(join(local, "x"), { localSkills: [join(root, "link")] }), refused);
  skillCache(join(root, "skills-cache"), { localSkills: [local] });
  throws(() => skillCache(root, {} as never), { message: /localSkills is missing/ });
});
