import { McpError } from "../protocol/errors.js";
import type { SkillDifference } from "./types.js";

/**
 * Error of a skill. `code` is one of `skills_unsupported`, `invalid_skill`, `skill_too_large`, `skill_changed`,
 * `skill_mismatch`, `not_in_skill`, `not_approved` and `yaml_missing`.
 */
export class SkillError extends McpError {
  protected static override readonly bowline: string = "SkillError";
  override readonly name: string = "SkillError";
  /** URI of the file, or of the SKILL.md. */
  readonly uri: string | undefined;
  /** Single problems: the fields of the frontmatter that differ, or the skills that cannot be loaded. */
  readonly problems: readonly string[];
  /** Differences between the entry in use and the server's present one, for `skill_changed`. */
  readonly difference: SkillDifference | undefined;

  constructor(
    code: string,
    message: string,
    options: ErrorOptions & {
      readonly uri?: string;
      readonly problems?: readonly string[];
      readonly difference?: SkillDifference;
    } = {},
  ) {
    super(code, message, options);
    this.uri = options.uri;
    this.problems = options.problems ?? [];
    this.difference = options.difference;
  }
}
