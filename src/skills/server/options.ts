import type { Known, Optional } from "../../protocol/known-options.js";
import type { AccessOptions } from "../../server/definitions/access.js";
import { CACHE_HINTS, type CacheHints } from "../../server/options.js";
import { PORTABLE_SKILL, type Skill } from "../types.js";
import type { SkillProblem } from "./source.js";

/** Options of {@link skills}. */
export interface SkillsOptions {
  /**
   * URI scheme of the skills.
   * @default "skill"
   */
  readonly scheme?: string | undefined;
  /** Path before the paths of all skills: with `acme`, a skill has the URI `skill://acme/<skill>/SKILL.md`. */
  readonly prefix?: string | undefined;
  /** Returns the access rules of a skill from files. Skills in code have their own. */
  readonly access?: ((skill: Skill) => AccessOptions | undefined) | undefined;
  /** Returns false for a skill from files that listings leave out. It can still be loaded by its URI. */
  readonly listed?: ((skill: Skill) => boolean) | undefined;
  /**
   * Serves `resources/directory/read`, so that clients can list the directories of a skill.
   * @default true
   */
  readonly directories?: boolean | undefined;
  /**
   * Refuses to load the skills if there is a problem. Otherwise, a problem is reported, and a skill that cannot be
   * served is left out.
   * @default false
   */
  readonly strict?: boolean | undefined;
  /**
   * Maximum number of skills, or files of a directory, on a page.
   * @default 100
   */
  readonly pageSize?: number | undefined;
  /**
   * Cache hints of the results.
   * @default { ttlMs: 0, scope: "private" }
   */
  readonly cache?: CacheHints | undefined;
  /** Called with each problem of a load. The logger of the server gets it too. */
  readonly onProblem?: ((problem: SkillProblem) => void) | undefined;
  readonly limits?: Optional<SkillsLimits> | undefined;
}

/** Limits of the skills of a server. */
export interface SkillsLimits {
  /**
   * Number of files of a skill from which it is reported: clients may refuse it.
   * @default 512
   */
  readonly maxFiles: number;
  /**
   * Bytes of a skill from which it is reported: clients may refuse it.
   * @default 16_777_216
   */
  readonly maxBytes: number;
  /**
   * Time to wait after a change of a file for others, before the skills are loaded again.
   * @default 100
   */
  readonly settleMs: number;
}

export const SKILLS_LIMITS: SkillsLimits = {
  maxFiles: PORTABLE_SKILL.files,
  maxBytes: PORTABLE_SKILL.bytes,
  settleMs: 100,
};

export const SKILLS_OPTIONS: Known<SkillsOptions> = {
  scheme: "string",
  prefix: "string",
  access: "function",
  listed: "function",
  directories: "boolean",
  strict: "boolean",
  pageSize: "positive",
  cache: CACHE_HINTS,
  onProblem: "function",
  limits: SKILLS_LIMITS,
};
