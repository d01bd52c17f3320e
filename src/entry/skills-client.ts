export { SkillError } from "../skills/error.js";
export { SKILLS_EXTENSION, type Skill, type SkillFrontmatter, type SkillResource } from "../skills/types.js";
