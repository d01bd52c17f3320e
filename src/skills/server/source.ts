import type { Known } from "../../protocol/known-options.js";
import type { Caller, Context } from "../../server/context.js";
import { ACCESS_OPTIONS, type AccessOptions } from "../../server/definitions/access.js";
import { toBytes } from "../text.js";
import type { SkillFrontmatter } from "../types.js";

/** Files that contain skills, such as a folder. Each directory with a SKILL.md is a skill. */
export interface SkillFiles {
  /** Reads all files at once. */
  read(): Promise<SkillTree>;
  /** Calls the listener when files may have changed. Returns a function that stops that. */
  readonly watch?: ((onChange: () => void) => () => void) | undefined;
}

/** Files by their paths, with `/` between directories. */
export interface SkillTree {
  /** Contents by path. Return the same array for a file that did not change, so that its digest is not computed again. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Paths of directories without files. */
  readonly emptyDirectories?: readonly string[] | undefined;
  /** Entries that cannot be served, such as symbolic links. A skill that contains one is not served. */
  readonly refused?: readonly SkillProblem[] | undefined;
}

/** Problem of a skill. */
export interface SkillProblem {
  /** Path of the file or directory. */
  readonly path: string;
  readonly message: string;
}

/** Members that all skills in code have. */
export interface CommonSkill extends AccessOptions {
  /**
   * Path of the skill on the server. Its last segment must be the name of the skill.
   * @default the name of the skill
   */
  readonly path?: string | undefined;
  /** Frontmatter of the SKILL.md, with `name` and `description`. */
  readonly frontmatter: SkillFrontmatter;
  /**
   * False to leave the skill out of listings. It can still be loaded by its URI.
   * @default true
   */
  readonly listed?: boolean | undefined;
}

/** Skill with constant content. */
export interface SkillDefinition extends CommonSkill {
  /** Markdown of the SKILL.md after the frontmatter. */
  readonly body: string;
  /** Other files by path. */
  readonly files?: { readonly [path: string]: string | Uint8Array } | undefined;
}

/** Skill whose content is generated for each request. It has no digests. */
export interface DynamicSkill extends CommonSkill {
  /**
   * Returns a file of the skill, or undefined if it does not exist. For `SKILL.md`, returns the Markdown after the
   * frontmatter.
   */
  read(path: string, ctx: Context): Content | Promise<Content>;
  /**
   * Returns the names in a directory, or undefined if it does not exist. `path` is empty for the directory of the
   * skill. Names of directories end with a slash.
   * @default the directory of the skill contains SKILL.md, and there are no others
   */
  readonly list?: ((path: string, ctx: Context) => Names | Promise<Names>) | undefined;
}

type Content = string | Uint8Array | undefined;
type Names = readonly string[] | undefined;

/** Skill that is defined in code. */
export type AnySkill = SkillDefinition | DynamicSkill;

export const SKILL_OPTIONS: Known<SkillDefinition & DynamicSkill> = {
  ...ACCESS_OPTIONS,
  path: "string",
  frontmatter: "any",
  listed: "boolean",
  body: "any",
  files: "object",
  read: "function",
  list: "function",
};

/** Skills of one caller. Return the same objects for skills that did not change. */
export type SkillsOfCaller = (caller: Caller) => readonly AnySkill[] | Promise<readonly AnySkill[]>;

/** Source of skills. */
export type SkillSource = SkillFiles | AnySkill | SkillsOfCaller;

/** Returns files in memory as a source of skills: `skillFiles({ "refunds/SKILL.md": "---\nname: ..." })`. */
export function skillFiles(files: { readonly [path: string]: string | Uint8Array }): SkillFiles {
  const tree = { files: new Map(Object.entries(files).map(([path, content]) => [path, toBytes(content)])) };
  return { read: async () => tree };
}
