import { equal, rejects } from "node:assert/strict";
import type { Client } from "bowline/client";
import { type Skill, SkillError, SkillsClient } from "bowline/skills/client";

/** Lists the skills, as a host does when it connects. */
export async function listSkills(client: Client): Promise<void> {
  const { skills, invalid } = await new SkillsClient(client).list();
  equal(skills.length, 1);
  equal(invalid.length, 0);
}

/** Loads the listed skill. The server gives a SKILL.md that does not match the entry, so that the client refuses it. */
export async function refuseSkill(client: Client): Promise<void> {
  const skills = new SkillsClient(client);
  const [skill] = (await skills.list()).skills;
  await rejects(readAll(skills, skill as Skill), (error) => {
    return error instanceof SkillError && error.code === "skill_mismatch";
  });
}

async function readAll(skills: SkillsClient, skill: Skill): Promise<void> {
  const held = await skills.load(skill);
  if (skill.resources === "dynamic") return;
  for (const { uri } of skill.resources) await held.read(uri);
}
