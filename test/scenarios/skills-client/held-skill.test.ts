import { deepEqual, equal, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { SkillError, SkillsClient } from "bowline/skills/client";
import { type DynamicSkill, skillFiles, skills } from "bowline/skills/server";
import { eachWire } from "../../support/each-wire.js";
import { readsOf, resourceOf, SkillScript, sentBy, skillText } from "../../support/scripted-skills.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const PDF = "skill://team/pdf/SKILL.md";
const ROOT = "skill://team/pdf";
const isNotIn = (error: unknown) => error instanceof SkillError && error.code === "not_in_skill";
const isTooLarge = (error: unknown) => error instanceof SkillError && error.code === "skill_too_large";

/** References that leave the skill in some reading of them. */
const WAYS_OUT = [
  "../other/SKILL.md",
  "references/../../other/SKILL.md",
  "%2e%2e/other/SKILL.md",
  ".%2E/other/SKILL.md",
  "..%2fother%2fSKILL.md",
  "references%2f..%2f..%2fother%2fSKILL.md",
  "..\\other\\SKILL.md",
  "..%5cother%5cSKILL.md",
  "%252e%252e/other/SKILL.md",
  "%252e%252e%252fother/SKILL.md",
  "/other/SKILL.md",
  "//other/SKILL.md",
  "skill://team/other/SKILL.md",
  "skill://team/pdf/../other/SKILL.md",
  "skill://team/pdf/%2e%2e/other/SKILL.md",
  "skill://team/pdf-2/SKILL.md",
  "https://example.com/SKILL.md",
  "references//forms.md",
  "references/forms.md?x",
  "a\0b",
  "%00",
  "%zz",
];

verifies("skills:client:relative", "resolves paths below the skill's own directory", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  script.serve(PDF, {
    "references/forms.md": "forms",
    "Q%26A%20%C3%A9.md": "Q&A",
    "nested/x/SKILL.md": "n",
    "nested/x/a.md": "na",
    "a.md": "a",
  });
  const client = await connect(script.server());
  const held = await new SkillsClient(client).load(PDF);
  for (const reference of [
    "references/forms.md",
    "./references/forms.md",
    "references/./forms.md",
    "references/../references/forms.md",
    "references/%66orms.md",
    `${ROOT}/references/forms.md`,
  ])
    equal((await held.read(reference)).text, "forms", reference);
  for (const reference of ["Q&A é.md", "Q%26A%20%C3%A9.md", "Q&A%20%C3%A9.md"])
    equal((await held.read(reference)).text, "Q&A", reference);
  equal((await held.read("a.md", { from: "nested/x/SKILL.md" })).text, "na");
  await rejects(held.read("../../a.md", { from: "nested/x/SKILL.md" }), isNotIn);
  await rejects(held.read("a.md", { from: "../SKILL.md" }), isNotIn);
  const spelled = new Set([PDF, `${ROOT}/references/forms.md`, `${ROOT}/Q%26A%20%C3%A9.md`, `${ROOT}/nested/x/a.md`]);
  deepEqual(new Set(readsOf(client)), spelled);
});

verifies("skills:client:relative", "sends nothing for a path that leaves the skill", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const frontmatter = { name: "pdf", description: "d" };
  script.serve(PDF, { "references/forms.md": "forms" });
  script.entries.push({ uri: "skill://team/gen/pdf/SKILL.md", frontmatter, resources: "dynamic" });
  script.files.set("skill://team/gen/pdf/SKILL.md", skillText(frontmatter, ""));
  const client = await connect(script.server());
  const found = new SkillsClient(client);
  for (const uri of [PDF, "skill://team/gen/pdf/SKILL.md"]) {
    const held = await found.load(uri);
    const before = sentBy(client).length;
    for (const reference of [...WAYS_OUT, "", ".", "references/.."])
      await rejects(held.read(reference), isNotIn, reference);
    for (const reference of WAYS_OUT) await rejects(held.directory(reference), isNotIn, reference);
    for (const from of ["../SKILL.md", "a/../../SKILL.md", "/SKILL.md", "a", "..\\SKILL.md"])
      await rejects(held.read("a.md", { from }), isNotIn, from);
    equal(sentBy(client).length, before);
  }
});

verifies("skills:client:unlisted", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "a" });
  script.files.set(`${ROOT}/new.md`, "new");
  const client = await connect(script.server());
  const held = await new SkillsClient(client).load(PDF);
  const before = sentBy(client).length;
  for (const reference of ["new.md", "A.md", "a.md/b", "secret/x.md"])
    await rejects(held.read(reference), isNotIn, reference);
  await rejects(held.directory("secret"), isNotIn);
  equal(sentBy(client).length, before);
  equal((await held.read("a.md")).text, "a");
});

verifies("skills:client:limits", "accepts 512 files of 16 MiB, refuses more", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const small = script.serve(PDF, {});
  const [first] = small.resources as { uri: string; digest: string; size: number }[];
  const of = (count: number, bytes: number) => {
    const others = Array.from({ length: count - 1 }, (_, index) => resourceOf(`${ROOT}/${index}.txt`, ""));
    others[0] = { ...others[0]!, size: bytes - first!.size };
    return { ...small, resources: [first!, ...others] };
  };
  const client = await connect(script.server());
  const found = new SkillsClient(client);
  equal((await found.load(of(512, 16_777_216))).body, "# pdf\n");
  const before = sentBy(client).length;
  await rejects(found.load(of(513, 1000)), { code: "skill_too_large", message: /513 files.* 512 .*limits\.maxFiles/ });
  await rejects(found.load(of(512, 16_777_217)), { code: "skill_too_large", message: /limits\.maxBytes/ });
  equal(sentBy(client).length, before);
  const generous = new SkillsClient(client, { limits: { maxFiles: 513, maxBytes: 16_777_217 } });
  equal((await generous.load(of(513, 16_777_217))).body, "# pdf\n");
});

verifies("skills:client:limits", "stops a dynamic skill at the same total", eachWire, async ({ connect }) => {
  const endless: DynamicSkill = {
    frontmatter: { name: "endless", description: "d" },
    read: (path) => (path === "SKILL.md" ? "# Do it" : "x".repeat(400)),
  };
  const client = await connect(new McpServer(me).extend(skills(endless)));
  const held = await new SkillsClient(client, { limits: { maxBytes: 1000 } }).load("skill://endless/SKILL.md");
  const file = await held.read("a.txt");
  deepEqual([file.bytes.byteLength, file.verified], [400, false]);
  await held.read("b.txt");
  await rejects(held.read("c.txt"), isTooLarge);
  const before = sentBy(client).length;
  await rejects(held.read("a.txt"), isTooLarge);
  equal(sentBy(client).length, before);
});

verifies("skills:client:directory-vs-entry", "lists the directories of a skill", eachWire, async ({ connect }) => {
  const files = {
    "pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\n",
    "pdf/templates/a.md": "a",
    "pdf/templates/b.md": "b",
    "pdf/templates/eu/c.md": "c",
    "pdf/Q&A é/d.md": "d",
  };
  const client = await connect(new McpServer(me).extend(skills(skillFiles(files), { pageSize: 1 })));
  const held = await new SkillsClient(client).load("skill://pdf/SKILL.md");
  const pathsIn = async (path?: string) => {
    const { children, changed } = await held.directory(path);
    deepEqual(changed, []);
    return children.map((child) => (child.isDirectory ? `${child.path}/` : child.path)).sort();
  };
  deepEqual(await pathsIn(), ["Q&A é/", "SKILL.md", "templates/"]);
  deepEqual(await pathsIn("templates"), ["templates/a.md", "templates/b.md", "templates/eu/"]);
  deepEqual(await pathsIn("./templates/eu/"), ["templates/eu/c.md"]);
  deepEqual(await pathsIn("Q&A é"), ["Q&A é/d.md"]);
});

verifies("skills:client:directory-vs-entry", "adds no file to the entry", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  script.serve(PDF, { "templates/a.md": "a", "templates/gone.md": "g" });
  script.files.set(`${ROOT}/templates/new.md`, "new");
  const child = (path: string, mimeType = "text/markdown") => ({ uri: `${ROOT}/${path}`, name: path, mimeType });
  script.directories.set(`${ROOT}/templates`, [
    child("templates/a.md"),
    child("templates/new.md"),
    child("templates/sub", "inode/directory"),
    child("templates/deep/b.md"),
    child("other.md"),
    { uri: "skill://team/evil/templates/x.md", name: "x" },
    { uri: 7 },
  ]);
  const client = await connect(script.server());
  const held = await new SkillsClient(client).load(PDF);
  const { children, changed } = await held.directory("templates");
  deepEqual(
    children.map(({ path }) => path),
    ["templates/a.md"],
  );
  deepEqual(changed, [`${ROOT}/templates/new.md`, `${ROOT}/templates/gone.md`]);
  await rejects(held.read("templates/new.md"), isNotIn);
  equal((held.entry.resources as object[]).length, 3);
  deepEqual(readsOf(client), [PDF]);
});

verifies("skills:client:directory-vs-entry", "lists what a dynamic skill has", eachWire, async ({ connect }) => {
  const report: DynamicSkill = {
    frontmatter: { name: "report", description: "d" },
    read: (path) => `content of ${path}`,
    list: (path) => (path === "" ? ["SKILL.md", "days/"] : ["monday.md"]),
  };
  const client = await connect(new McpServer(me).extend(skills(report)));
  const held = await new SkillsClient(client).load("skill://report/SKILL.md");
  const { children } = await held.directory("days");
  deepEqual(
    children.map(({ path }) => path),
    ["days/monday.md"],
  );
  equal((await held.read(children[0]!.path)).text, "content of days/monday.md");
});
