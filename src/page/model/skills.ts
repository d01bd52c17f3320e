import { isObject } from "../../protocol/json.js";
import { paramsOf } from "../../recording/messages.js";
import { messagesIn, type Run } from "./run.js";

/** Skill that a server lists. */
export interface SkillEntry {
  /** URI of its SKILL.md. */
  readonly uri: string;
  readonly name: string;
  readonly description: string | undefined;
  /** Undefined if its content is generated, and has no digests. */
  readonly files: readonly SkillFile[] | undefined;
}

/** File of a skill. */
export interface SkillFile {
  readonly uri: string;
  /** Path from the folder of the skill. */
  readonly path: string;
  readonly size: number;
  readonly digest: string;
}

/** Returns the skills of a run, as they were listed last. */
export function skillsOf(run: Run): readonly SkillEntry[] {
  const asked = new Map<string, boolean>();
  const skills = new Map<string, SkillEntry>();
  for (const { event, message } of messagesIn(run.events)) {
    const key = `${event.c} ${String(message.id)}`;
    if (event.d === ">") {
      if (message.method === "skills/list") asked.set(key, paramsOf(message).cursor === undefined);
      continue;
    }
    const isFirst = asked.get(key);
    const listed = message.result?.skills;
    if (isFirst === undefined || !Array.isArray(listed)) continue;
    // The first page replaces what was listed before.
    if (isFirst) skills.clear();
    for (const one of listed.filter(isObject)) {
      const { uri, frontmatter, resources } = one as { readonly [key: string]: unknown };
      const front = isObject(frontmatter) ? (frontmatter as { readonly [key: string]: unknown }) : {};
      const text = (value: unknown) => (typeof value === "string" ? value : undefined);
      const own = String(uri);
      skills.set(own, {
        uri: own,
        name: text(front.name) ?? own,
        description: text(front.description),
        files: Array.isArray(resources) ? resources.filter(isObject).map((file) => fileOf(own, file)) : undefined,
      });
    }
  }
  return [...skills.values()];
}

function fileOf(skill: string, file: { readonly [key: string]: unknown }): SkillFile {
  const uri = String(file.uri);
  const folder = skill.slice(0, skill.lastIndexOf("/") + 1);
  const path = uri.startsWith(folder) ? uri.slice(folder.length) : uri;
  return { uri, path, size: Number(file.size) || 0, digest: String(file.digest) };
}
