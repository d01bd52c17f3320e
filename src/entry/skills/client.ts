export type {
  SkillApproval,
  SkillApprovalRequest,
  SkillApprovals,
  SkillDecision,
} from "../../skills/client/approvals.js";
export type { ApprovedSkill } from "../../skills/client/approved-skill.js";
export type { SkillCache, SkillCacheKey } from "../../skills/client/cache.js";
export {
  type CatalogueListing,
  type CatalogueSkill,
  SkillCatalogue,
  type SkillCatalogueLimits,
  type SkillCatalogueOptions,
  type SkillIdentity,
  type SkillServers,
} from "../../skills/client/catalogue.js";
export type { SkillChild, SkillDirectory } from "../../skills/client/directory.js";
export type { InvalidSkill } from "../../skills/client/entry.js";
export type { SkillFile, SkillReadOptions } from "../../skills/client/files.js";
export type { HeldSkill } from "../../skills/client/held-skill.js";
export type { SkillCollision } from "../../skills/client/labels.js";
export type { SkillsClientLimits, SkillsClientOptions } from "../../skills/client/options.js";
export { type ListSkillsOptions, type SkillListing, SkillsClient } from "../../skills/client/skills-client.js";
export { SkillError } from "../../skills/error.js";
export {
  SKILLS_EXTENSION,
  type Skill,
  type SkillDifference,
  type SkillFrontmatter,
  type SkillResource,
} from "../../skills/types.js";
