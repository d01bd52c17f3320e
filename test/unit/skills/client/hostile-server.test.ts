import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect, RpcError } from "bowline/client";
import { SkillCatalogue, SkillError, SkillsClient } from "bowline/skills/client";
import { cpuTime } from "../../../support/cpu-time.js";
import { SkillScript, skillText } from "../../../support/scripted-skills.js";

const PDF = "skill://pdf/SKILL.md";

async function skillsOf(script: SkillScript, t: TestContext): Promise<SkillsClient> {
  const client = await connect(script.server());
  t.after(() => client.close());
  return new SkillsClient(client);
}

test("an entry that is nested very deeply does not take the others along", async (t) => {
  const script = new SkillScript();
  const good = script.serve(PDF, {});
  let deep: unknown = "x";
  for (let depth = 0; depth < 1_500; depth++) deep = [deep];
  const uri = "skill://deep/SKILL.md";
  script.entries.push({ uri, frontmatter: { name: "deep", description: "d", deep }, resources: "dynamic" });
  script.files.set(uri, skillText({ name: "deep", description: "d" }, ""));
  const found = await skillsOf(script, t);
  const { skills } = await found.list();
  deepEqual(skills[0], good);
  await rejects(found.load(uri), (error) => error instanceof SkillError);
});

test("results without the members that they must have are refused", async (t) => {
  const script = new SkillScript();
  script.serve(PDF, {});
  const found = await skillsOf(script, t);
  for (const result of [{}, { skills: {} }, { skills: [], nextCursor: 7 }]) {
    script.list = () => result;
    await rejects(found.list(), { code: "protocol_error", message: /^skills\/list: / });
  }
  script.directories.set("skill://pdf", "none" as never);
  await rejects((await found.load(PDF)).directory(), { code: "protocol_error" });
});

test("a listing is read again from the start if a cursor is refused, and keeps the second times", async (t) => {
  const script = new SkillScript();
  const entry = script.serve(PDF, {});
  const asked: unknown[] = [];
  script.list = (cursor) => {
    asked.push(cursor);
    if (cursor !== undefined) throw new RpcError(-32602, "Invalid cursor");
    return asked.length === 1 ? { skills: [], nextCursor: "next", ttlMs: 0 } : { skills: [entry], ttlMs: 60_000 };
  };
  const found = await skillsOf(script, t);
  deepEqual((await found.list()).skills, [entry]);
  deepEqual(asked, [undefined, "next", undefined]);
  await found.list();
  equal(asked.length, 3);
});

test("reads that run at the same time as a failed verification return verified content or nothing", async (t) => {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "a", "b.md": "b" });
  const held = await (await skillsOf(script, t)).load(PDF);
  script.files.set("skill://pdf/a.md", "A");
  const [a, b] = await Promise.allSettled([held.read("a.md"), held.read("b.md")]);
  equal(a.status, "rejected");
  equal(b.status === "fulfilled" ? b.value.text : "b", "b");
  await rejects(held.read("b.md"), { code: "skill_mismatch" });
});

test("tools that are asked for in a long text are found in a short time", async (t) => {
  const script = new SkillScript();
  script.serve(PDF, {}, { "allowed-tools": "a(".repeat(200_000) });
  const client = await connect(script.server());
  t.after(() => client.close());
  let asked: readonly string[] = [];
  const catalogue = new SkillCatalogue(
    { one: client },
    {
      approve({ allowedTools }) {
        asked = allowedTools;
        return false;
      },
    },
  );
  // With time in the square of the length, this takes minutes.
  const tookMs = cpuTime();
  await rejects(catalogue.load({ server: "one", uri: PDF }), { code: "not_approved" });
  ok(tookMs() < 5_000, `took ${tookMs()} ms`);
  equal(asked.length, 200_000);
});

test("a path that no URI can express is refused before anything is sent", async (t) => {
  const script = new SkillScript();
  const uri = "skill://live/SKILL.md";
  script.entries.push({ uri, frontmatter: { name: "live", description: "d" }, resources: "dynamic" });
  script.files.set(uri, skillText({ name: "live", description: "d" }, ""));
  const held = await (await skillsOf(script, t)).load(uri);
  for (const [path, from] of [
    ["\ud800.md", undefined],
    ["x.md", "\ud800/SKILL.md"],
  ] as const) {
    await rejects(held.read(path, from === undefined ? {} : { from }), { code: "not_in_skill" });
  }
});
