export { SkillError } from "../../skills/error.js";
export type { SkillChanges } from "../../skills/server/changes.js";
export type { SkillsLimits, SkillsOptions } from "../../skills/server/options.js";
export { type SkillsExtension, skills } from "../../skills/server/skills.js";
export {
  type AnySkill,
  type CommonSkill,
  type DynamicSkill,
  type SkillDefinition,
  type SkillFiles,
  type SkillProblem,
  type SkillSource,
  type SkillsOfCaller,
  type SkillTree,
  skillFiles,
} from "../../skills/server/source.js";
export {
  SKILLS_EXTENSION,
  type Skill,
  type SkillDifference,
  type SkillFrontmatter,
  type SkillResource,
} from "../../skills/types.js";
