import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { McpServer } from "bowline/server";
import { SkillError, SkillsClient } from "bowline/skills/client";
import { skillFiles, skills } from "bowline/skills/server";
import { eachWire } from "../../support/each-wire.js";
import { readsOf, SkillScript, sentBy, skillText } from "../../support/scripted-skills.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const PDF = "skill://pdf/SKILL.md";

function isError(code: string, text = "") {
  return (error: unknown) => error instanceof SkillError && error.code === code && error.message.includes(text);
}

verifies("skills:client:verify", "returns files whose bytes match, as they are", eachWire, async ({ connect }) => {
  const binary = new Uint8Array([0, 255, 1, 128]);
  const files = {
    "pdf/SKILL.md": "\uFEFF---\r\nname: pdf\r\ndescription: Reads PDF\r\n---\r\n# Do it\r\n",
    "pdf/references/forms.md": "a\r\nb\r\n",
    "pdf/Q&A é 100%.md": "\uFEFFquestions\n",
    "pdf/logo.png": binary,
    "pdf/empty.txt": "",
  };
  const client = await connect(new McpServer(me).extend(skills(skillFiles(files))));
  const held = await new SkillsClient(client, { server: "docs" }).load(PDF);
  deepEqual([held.body, held.frontmatter.description, held.server], ["# Do it\r\n", "Reads PDF", "docs"]);
  const file = await held.read("references/forms.md");
  deepEqual(
    [file.text, file.path, file.uri, file.mimeType, file.verified, file.server],
    ["a\r\nb\r\n", "references/forms.md", "skill://pdf/references/forms.md", "text/markdown", true, "docs"],
  );
  equal((await held.read("Q&A é 100%.md")).text, "\uFEFFquestions\n");
  const logo = await held.read("./logo.png");
  deepEqual([logo.bytes, logo.text, logo.mimeType], [binary, undefined, "image/png"]);
  equal((await held.read("empty.txt")).text, "");
});

verifies("skills:client:verify", "returns nothing of a file with other bytes", eachWire, async ({ connect }) => {
  for (const content of ["Evil body!!", "Evil body of another length", new Uint8Array([1, 2]), "Skill body.\n"]) {
    const script = new SkillScript();
    script.serve(PDF, { "a.md": "Skill body.", "b.md": "b" });
    const client = await connect(script.server());
    const held = await new SkillsClient(client).load(PDF);
    script.files.set("skill://pdf/a.md", content);
    const error = await held.read("a.md").catch((thrown: unknown) => thrown);
    ok(isError("skill_mismatch", "skill://pdf/a.md")(error), String(error));
    equal((error as SkillError).uri, "skill://pdf/a.md");
    ok(!JSON.stringify([error, (error as Error).message]).includes("Evil"));
    const reads = readsOf(client);
    await rejects(held.read("b.md"), isError("skill_mismatch", "skill://pdf/a.md"));
    await rejects(held.directory(), isError("skill_mismatch"));
    deepEqual(readsOf(client), reads);
  }
});

verifies("skills:client:verify", "loads no skill whose SKILL.md has other bytes", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const entry = script.serve(PDF, { "a.md": "a" });
  script.files.set(PDF, skillText(entry.frontmatter, "# Evil\n"));
  const client = await connect(script.server());
  await rejects(new SkillsClient(client).load(entry), isError("skill_mismatch", PDF));
  script.files.delete(PDF);
  script.files.set(PDF, `${skillText(entry.frontmatter, "# pdf\n")} `);
  await rejects(new SkillsClient(client).load(entry), isError("skill_mismatch", "bytes instead of"));
  deepEqual(new Set(readsOf(client)), new Set([PDF]));
});

verifies("skills:client:verify", "reads once more past the cache of responses", eachWire, async ({ connect, era }) => {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "old" });
  const client = await connect(script.server());
  await client.readResource("skill://pdf/a.md");
  script.entries = [];
  script.serve(PDF, { "a.md": "new" });
  const held = await new SkillsClient(client).load(PDF);
  equal((await held.read("a.md")).text, "new");
  const reads = readsOf(client).filter((uri) => uri === "skill://pdf/a.md");
  // The handshake era has no times to keep results.
  equal(reads.length, 2, era);
});

verifies("skills:client:stale", "reports a changed skill with its differences", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "a", "b.md": "b", "c.md": "c" });
  const client = await connect(script.server());
  const found = new SkillsClient(client);
  const held = await found.load(PDF);
  script.entries = [];
  script.serve(PDF, { "a.md": "A", "c.md": "c", "d.md": "d" }, { license: "MIT" });
  const error = await held.read("a.md").catch((thrown: unknown) => thrown);
  ok(isError("skill_changed", "load it again")(error), String(error));
  deepEqual((error as SkillError).difference, {
    added: ["skill://pdf/d.md"],
    removed: ["skill://pdf/b.md"],
    changed: [PDF, "skill://pdf/a.md"],
    fields: ["license"],
  });
  equal((error as SkillError).problems.length, 5);
  await rejects(held.read("c.md"), isError("skill_changed"));
  equal((await (await found.load(PDF)).read("a.md")).text, "A");
});

verifies("skills:client:stale", "reports a file that the server no longer has", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "a", "b.md": "b" });
  const client = await connect(script.server());
  const held = await new SkillsClient(client).load(PDF);
  script.files.delete("skill://pdf/b.md");
  await rejects(held.read("b.md"), (error: Error) => error.name === "RpcError");
  equal((await held.read("a.md")).text, "a");
  script.entries = [];
  script.serve(PDF, { "a.md": "a" });
  await rejects(held.read("b.md"), isError("skill_changed", "skill://pdf/b.md was removed"));
});

verifies("skills:client:stale", "survives a server that does not return the entry", eachWire, async ({ connect }) => {
  for (const answer of [undefined, {}, { skill: null }, { skill: { uri: PDF } }]) {
    const script = new SkillScript();
    const entry = script.serve(PDF, {});
    script.files.set(PDF, skillText(entry.frontmatter, "Evil"));
    script.get = () => answer;
    const client = await connect(script.server());
    await rejects(new SkillsClient(client).load(entry), isError("skill_mismatch", PDF));
    equal(client.wire.requests("skills/get").length, 1);
  }
});

verifies(
  "skills:client:frontmatter",
  "refuses a skill whose SKILL.md differs from its entry",
  eachWire,
  async (wire) => {
    const differences: readonly (readonly [served: object, said: object, fields: readonly string[]])[] = [
      [{}, { description: "Another" }, ["description"]],
      [{ license: "MIT" }, { license: undefined }, ["license"]],
      [{}, { "allowed-tools": "Bash" }, ["allowed-tools"]],
      [{ metadata: { a: "1", b: "2" } }, { metadata: { a: "1", b: "3" } }, ["metadata"]],
      [{ "x-list": [1, 2] }, { "x-list": [2, 1] }, ["x-list"]],
      [{ "x-flag": "true" }, { "x-flag": true }, ["x-flag"]],
    ];
    for (const [served, said, fields] of differences) {
      const script = new SkillScript();
      const entry = script.serve(PDF, { "a.md": "a" }, served);
      script.entries = [{ ...entry, frontmatter: { ...entry.frontmatter, ...said } }];
      const client = await wire.connect(script.server());
      const error = await new SkillsClient(client).load(PDF).catch((thrown: unknown) => thrown);
      ok(isError("skill_mismatch", `frontmatter differs in ${fields}`)(error), String(error));
      deepEqual((error as SkillError).problems, fields);
      deepEqual(new Set(readsOf(client)), new Set([PDF]));
    }
  },
);

verifies("skills:client:frontmatter", "compares dynamic skills too", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const frontmatter = { name: "pdf", description: "Reads PDF" };
  script.entries = [{ uri: PDF, frontmatter, resources: "dynamic" }];
  const client = await connect(script.server());
  const found = new SkillsClient(client);
  const [entry] = (await found.list()).skills;
  script.files.set(PDF, skillText({ ...frontmatter, description: "Deletes PDF" }, "x"));
  await rejects(found.load(entry!), isError("skill_mismatch", "differs in description"));
  script.entries = [{ uri: PDF, frontmatter: { ...frontmatter, description: "Deletes PDF" }, resources: "dynamic" }];
  await rejects(found.load(entry!), isError("skill_changed", "description"));
  for (const text of ["no frontmatter", "---\nname: [\n---\n", "---\nname: pdf\n", "---\nname: &a pdf\nx: *a\n---\n"]) {
    script.files.set(PDF, text);
    script.entries = [entry];
    const other = await connect(script.server());
    await rejects(new SkillsClient(other).load(entry!), isError("skill_mismatch", PDF));
  }
});

verifies("skills:client:invalid-entry", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const good = script.serve(PDF, {});
  const client = await connect(script.server());
  const found = new SkillsClient(client);
  for (const resources of [undefined, null, "static", "Dynamic", {}, 512, true]) {
    const entry = { ...good, resources };
    script.entries = [entry];
    const { skills: listed, invalid } = await found.list();
    deepEqual([listed, invalid.map(({ uri }) => uri)], [[], [PDF]]);
    await rejects(found.load(entry as never), isError("invalid_skill", "resources must be"));
    await rejects(found.load(PDF), isError("invalid_skill", "resources must be"));
    await rejects(found.get(PDF), isError("invalid_skill"));
  }
  script.get = () => ({ skill: { ...good, uri: "skill://other/pdf/SKILL.md", resources: "dynamic" } });
  await rejects(found.load(PDF), isError("invalid_skill", "instead of"));
  await rejects(found.load("skill://pdf/README.md"), isError("invalid_skill", "not the URI of a SKILL.md"));
  deepEqual(readsOf(client), []);
});

verifies("skills:client:invalid-entry", "ignores members that it does not know", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const entry = script.serve(PDF, {});
  const resources = (entry.resources as object[]).map((file) => ({ ...file, mtime: 1 }));
  script.entries = [{ ...entry, resources, _meta: { "com.example/x": 1 }, archive: "zip" }];
  const found = new SkillsClient(await connect(script.server()));
  deepEqual((await found.list()).skills, [entry]);
  equal((await found.load(PDF)).body, "# pdf\n");
});

verifies("skills:entry:reserved-metadata", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const metadata = { "io.modelcontextprotocol/future": "x", "io.modelcontextprotocol/skills": "y", version: "1" };
  script.serve(PDF, {}, { metadata });
  const found = new SkillsClient(await connect(script.server()));
  equal((await found.list()).invalid.length, 0);
  const held = await found.load(PDF);
  deepEqual([held.body, held.frontmatter.metadata], ["# pdf\n", metadata]);
});

verifies("skills:uri:never-resolved", eachWire, async ({ connect }, t) => {
  let connections = 0;
  const listener = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => listener.close());
  const host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const script = new SkillScript({ scheme: "http" });
  const uri = `http://${host}/team/pdf/SKILL.md`;
  script.serve(uri, { "a.md": "a", "dir/b.md": "b" });
  script.directories.set(`http://${host}/team/pdf`, []);
  const client = await connect(script.server());
  const held = await new SkillsClient(client).load(uri);
  equal((await held.read("dir/b.md")).text, "b");
  await held.directory();
  await rejects(held.read(`http://${host}/other`), isError("not_in_skill"));
  equal(connections, 0);
  notEqual(sentBy(client).length, 0);
});
