import type { Clock } from "../../call/clock.js";
import { assertCallOptions, CALL_OPTIONS } from "../../client/options.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { SkillError } from "../error.js";
import { LIST_SKILLS, PORTABLE_SKILL, type Skill } from "../types.js";
import type { SkillCache } from "./cache.js";

/** Options of {@link SkillsClient}. */
export interface SkillsClientOptions {
  /** The host's own name of the server. Files carry it as their origin. Never use a name that the server gives itself. */
  readonly server?: string | undefined;
  /** Cache of verified files. Requires `server`. */
  readonly cache?: SkillCache | undefined;
  /**
   * First protocol version with which skills are used. Servers with earlier versions count as servers without skills.
   * @default all versions
   */
  readonly minVersion?: string | undefined;
  readonly limits?: Optional<SkillsClientLimits> | undefined;
  /** Called with each failure of the cache. The file is then read from the server. */
  readonly onError?: ((error: Error) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** Limits of a client of skills. */
export interface SkillsClientLimits {
  /**
   * Maximum number of files of a skill.
   * @default 512
   */
  readonly maxFiles: number;
  /**
   * Maximum number of bytes of a skill. For a dynamic skill, of all bytes that are read while it is held.
   * @default 16_777_216
   */
  readonly maxBytes: number;
  /**
   * Maximum number of pages of a listing.
   * @default 100
   */
  readonly maxPages: number;
  /**
   * Maximum number of skills in a listing, and of files in a directory.
   * @default 10_000
   */
  readonly maxItems: number;
  /**
   * Maximum time that a listing is reused. A server may ask for less.
   * @default 86_400_000
   */
  readonly maxTtlMs: number;
}

export const SKILLS_CLIENT_LIMITS: SkillsClientLimits = {
  maxFiles: PORTABLE_SKILL.files,
  maxBytes: PORTABLE_SKILL.bytes,
  maxPages: 100,
  maxItems: 10_000,
  maxTtlMs: 86_400_000,
};

export const SKILLS_CLIENT_OPTIONS: Known<SkillsClientOptions> = {
  server: "string",
  cache: "object",
  minVersion: "string",
  limits: SKILLS_CLIENT_LIMITS,
  onError: "function",
  clock: "object",
};

/** Checks the options. Returns the limits with their defaults. */
export function resolveOptions(options: SkillsClientOptions): SkillsClientLimits {
  assertOptions("SkillsClient", options, SKILLS_CLIENT_OPTIONS);
  if (options.cache !== undefined && options.server === undefined)
    throw new DefinitionError("SkillsClient: cache requires server, so that servers do not get each other's files");
  return withDefaults(options.limits, SKILLS_CLIENT_LIMITS);
}

/** Throws if the entry of a skill declares more than the limits allow. */
export function assertSize({ uri, resources }: Skill, { maxFiles, maxBytes }: SkillsClientLimits): void {
  if (resources === "dynamic") return;
  const bytes = resources.reduce((sum, { size }) => sum + size, 0);
  if (resources.length > maxFiles) throw tooLarge(uri, `${resources.length} files`, maxFiles, "maxFiles");
  if (bytes > maxBytes) throw tooLarge(uri, `${bytes} bytes`, maxBytes, "maxBytes");
}

export function tooLarge(uri: string, found: string, most: number, limit: string): SkillError {
  const message = `The skill ${uri} has ${found}, more than the ${most} that are allowed (limits.${limit})`;
  return new SkillError("skill_too_large", message, { uri });
}

const LIST_OPTIONS = { ...CALL_OPTIONS, refresh: "boolean" };
const READ_OPTIONS = { ...CALL_OPTIONS, from: "string" };

/** Throws for an option that a listing does not have. A listing that is reused sends no request, which would check them. */
export function assertListOptions(options: object): void {
  assertCallOptions(LIST_SKILLS, options, LIST_OPTIONS);
}

/** Throws for an option that a read does not have. A read from the cache sends no request. */
export function assertReadOptions(method: string, options: object): void {
  assertCallOptions(method, options, READ_OPTIONS);
}
