import { join, type Loaded, parentOf, type ServedFile, type ServedSkill, withFiles } from "./build.js";
import type { SkillProblem } from "./source.js";

/**
 * Combines skills of several sources. Leaves out skills whose path another one has. The files of a nested skill become
 * files of each skill around it too; a skill for which that is impossible is left out.
 */
export function combine(skills: readonly ServedSkill[]): Loaded {
  const byPath = new Map<string, ServedSkill>();
  const problems: SkillProblem[] = [];
  for (const skill of skills) {
    const { path, listing } = skill;
    if (!byPath.has(path)) byPath.set(path, skill);
    else problems.push({ path, message: `another skill has the URI ${listing.uri}; this one is not served` });
  }
  for (const inner of [...byPath.values()]) {
    const outers = skillsAround(inner, byPath);
    const problem = outers.map((outer) => nestingProblem(inner, outer)).find((found) => found !== undefined);
    if (problem === undefined) for (const outer of outers) byPath.set(outer.path, nest(inner, outer));
    else {
      byPath.delete(inner.path);
      problems.push({ path: inner.path, message: problem });
    }
  }
  return { skills: [...byPath.values()], problems };
}

/** Returns the skills that must list the files of a skill, because it is in their directories. */
function skillsAround({ path }: ServedSkill, byPath: ReadonlyMap<string, ServedSkill>): readonly ServedSkill[] {
  const found: ServedSkill[] = [];
  for (let directory = parentOf(path); directory !== ""; directory = parentOf(directory)) {
    const skill = byPath.get(directory);
    if (skill !== undefined && skill.dynamic === undefined) found.push(skill);
  }
  return found;
}

function nestingProblem(inner: ServedSkill, outer: ServedSkill): string | undefined {
  const problem = (reason: string) => `is in the skill ${outer.listing.uri}, which ${reason}; choose another path`;
  if (inner.dynamic !== undefined) return problem("cannot list generated files");
  const files = nestedFiles(inner, outer);
  const other = files.find(([path, { digest }]) => (outer.files.get(path)?.digest ?? digest) !== digest);
  if (other !== undefined) return problem(`has another file ${other[0]}`);
  const isContained = files.every(([path]) => outer.files.has(path));
  return isContained || inner.access === undefined ? undefined : problem("would open it to others");
}

function nest(inner: ServedSkill, outer: ServedSkill): ServedSkill {
  const added = nestedFiles(inner, outer).filter(([path]) => !outer.files.has(path));
  return added.length === 0 ? outer : withFiles(outer, new Map([...outer.files, ...added]));
}

/** Returns the files of a nested skill by their paths below the skill around it. */
function nestedFiles(inner: ServedSkill, outer: ServedSkill): readonly (readonly [string, ServedFile])[] {
  const directory = inner.path.slice(outer.path.length + 1);
  return [...inner.files].map(([path, file]) => [join(directory, path), file]);
}
