import { BUILT_IN_EXTENSIONS } from "../protocol/meta.js";

/** Identifier of the extension. Servers announce it; clients announce nothing. */
export const SKILLS_EXTENSION = BUILT_IN_EXTENSIONS.skills;

export const LIST_SKILLS = "skills/list";
export const GET_SKILL = "skills/get";
export const READ_DIRECTORY = "resources/directory/read";

/** MIME type of a directory. */
export const DIRECTORY_TYPE = "inode/directory";

/** Name of the file that makes a directory a skill. */
export const SKILL_FILE = "SKILL.md";

/** Size of a skill that every client accepts. */
export const PORTABLE_SKILL = { files: 512, bytes: 16_777_216 } as const;

/** YAML frontmatter of a SKILL.md as JSON, with all fields that the author wrote. */
export interface SkillFrontmatter {
  readonly name: string;
  readonly description: string;
  readonly [field: string]: unknown;
}

/** File of a skill. */
export interface SkillResource {
  readonly uri: string;
  /** `sha256:` and 64 hexadecimal digits, of the bytes that `resources/read` returns. */
  readonly digest: string;
  /** Number of these bytes. */
  readonly size: number;
}

/** Entry of a skill in `skills/list` and `skills/get`. */
export interface Skill {
  /** URI of the SKILL.md. It identifies the skill on its server. */
  readonly uri: string;
  readonly frontmatter: SkillFrontmatter;
  /** All files of the skill, SKILL.md included. `"dynamic"` if the content is generated and has no digests. */
  readonly resources: readonly SkillResource[] | "dynamic";
}

/** Difference between two entries of a skill. Files are named by their URIs. */
export interface SkillDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Files with another digest or size. */
  readonly changed: readonly string[];
  /** Fields of the frontmatter. */
  readonly fields: readonly string[];
}
