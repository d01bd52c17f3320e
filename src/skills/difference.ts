import { differingFields } from "./frontmatter.js";
import type { Skill, SkillDifference } from "./types.js";

/** Compares two entries of a skill. Returns undefined if they are equal. The order of files does not matter. */
export function compareEntries(before: Skill, after: Skill): SkillDifference | undefined {
  const old = filesOf(before);
  const now = filesOf(after);
  const difference: SkillDifference = {
    added: [...now.keys()].filter((uri) => !old.has(uri)),
    removed: [...old.keys()].filter((uri) => !now.has(uri)),
    changed: [...now.keys()].filter((uri) => old.has(uri) && old.get(uri) !== now.get(uri)),
    fields: differingFields(before.frontmatter, after.frontmatter),
  };
  return Object.values(difference).some((list) => list.length > 0) ? difference : undefined;
}

/** Returns the digest and size of each file. A dynamic skill has one file without them. */
function filesOf({ uri, resources }: Skill): ReadonlyMap<string, string> {
  if (resources === "dynamic") return new Map([[uri, "dynamic"]]);
  return new Map(resources.map((file) => [file.uri, `${file.digest} ${file.size}`]));
}

/** Describes a difference, one part per line. */
export function describeDifference({ added, removed, changed, fields }: SkillDifference): readonly string[] {
  return [
    ...added.map((uri) => `${uri} was added`),
    ...removed.map((uri) => `${uri} was removed`),
    ...changed.map((uri) => `${uri} has other content`),
    ...fields.map((field) => `the field ${field} of the frontmatter is different`),
  ];
}
