import { SKILL_FILE } from "../types.js";
import type { ServedSkill } from "./build.js";

/** Difference between two loads. Skills are named by the URI of their SKILL.md. */
export interface SkillChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** URIs of files whose content changed, or that are gone. */
  readonly files: readonly string[];
  /** True if `resources/list` looks different. */
  readonly listChanged: boolean;
}

/** Compares the skills before and after a load. Before the first load, there are none. */
export function compareSkills(before: readonly ServedSkill[] | undefined, after: readonly ServedSkill[]): SkillChanges {
  const old = new Map((before ?? []).map((skill) => [skill.listing.uri, skill]));
  const now = new Map(after.map((skill) => [skill.listing.uri, skill]));
  const both = after.filter(({ listing: { uri } }) => old.has(uri));
  const isOther = (skill: ServedSkill) =>
    JSON.stringify(skill.listing) !== JSON.stringify(old.get(skill.listing.uri)?.listing);
  return {
    added: [...now.keys()].filter((uri) => !old.has(uri)),
    removed: [...old.keys()].filter((uri) => !now.has(uri)),
    changed: both.filter(isOther).map(({ listing }) => listing.uri),
    files: changedFiles(old, now),
    listChanged: before !== undefined && shown(before) !== shown(after),
  };
}

function changedFiles(old: ReadonlyMap<string, ServedSkill>, now: ReadonlyMap<string, ServedSkill>): readonly string[] {
  const digests = digestsOf(now);
  return [...digestsOf(old)].filter(([uri, digest]) => digests.get(uri) !== digest).map(([uri]) => uri);
}

function digestsOf(skills: ReadonlyMap<string, ServedSkill>): ReadonlyMap<string, string> {
  const files = [...skills.values()].flatMap((skill) => [...skill.files.values()]);
  return new Map(files.map(({ resource, digest }) => [resource.uri, digest]));
}

/** Everything that `resources/list` shows of the skills. */
function shown(skills: readonly ServedSkill[]): string {
  const listed = skills.filter((skill) => skill.listed);
  return JSON.stringify(
    listed.map(({ listing: { uri, frontmatter }, files }) => files.get(SKILL_FILE)?.resource ?? [uri, frontmatter]),
  );
}
