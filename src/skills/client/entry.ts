import { isDigest } from "../../protocol/digest.js";
import { isObject } from "../../protocol/json.js";
import { messageOf } from "../../protocol/text.js";
import { SkillError } from "../error.js";
import { assertFrontmatter } from "../frontmatter.js";
import { SKILL_FILE, type Skill, type SkillResource } from "../types.js";
import { nameOf, normalPath, pathBelow, rootOf } from "../uri.js";

/** Entry of a listing that is not a valid skill. */
export interface InvalidSkill {
  /** URI of the entry, if it has one. */
  readonly uri: string | undefined;
  readonly problem: string;
}

/** Characters that a URI has only in an encoded form. They could forge the text around it. */
const NEVER_IN_URI = /[\s\p{Cc}\p{Cf}\p{Cs}]/u;

/**
 * Returns an entry as a skill. Ignores members that the extension does not define.
 * @throws a SkillError if the entry is not valid.
 */
export function toSkill(value: unknown): Skill {
  const { uri } = isObject(value) ? value : {};
  try {
    return readEntry(value);
  } catch (cause) {
    const where = typeof uri === "string" ? { uri } : undefined;
    throw new SkillError("invalid_skill", `The skill ${uri ?? "without a URI"} is not valid: ${messageOf(cause)}`, {
      cause,
      ...where,
    });
  }
}

/** Sorts the entries of a listing into skills and invalid ones. */
export function sortEntries(entries: readonly unknown[]): {
  readonly skills: readonly Skill[];
  readonly invalid: readonly InvalidSkill[];
} {
  const skills = new Map<string, Skill>();
  const invalid = new Map<unknown, InvalidSkill>();
  for (const entry of entries) {
    const uri = isObject(entry) && typeof entry.uri === "string" ? entry.uri : undefined;
    const refuse = (problem: string) => invalid.set(uri ?? entry, { uri, problem });
    try {
      const skill = readEntry(entry);
      const other = skills.get(skill.uri);
      // A page may repeat a skill if the list changes between two pages.
      if (other !== undefined && JSON.stringify(other) !== JSON.stringify(skill))
        refuse("the listing has two different entries with this URI");
      skills.set(skill.uri, skill);
    } catch (error) {
      refuse(messageOf(error));
    }
  }
  return { skills: [...skills.values()].filter(({ uri }) => !invalid.has(uri)), invalid: [...invalid.values()] };
}

function readEntry(value: unknown): Skill {
  if (!isObject(value)) throw new Error("the entry must be an object");
  const { uri, resources } = value;
  if (!isSkillUri(uri)) throw new Error(`uri must be the URI of a ${SKILL_FILE} in a directory`);
  const frontmatter = assertFrontmatter(value.frontmatter);
  if (nameOf(uri) !== frontmatter.name)
    throw new Error(`the directory must have the name in the frontmatter, ${frontmatter.name}`);
  if (resources === "dynamic") return { uri, frontmatter, resources };
  if (!Array.isArray(resources)) throw new Error('resources must be a list of files or "dynamic"');
  return { uri, frontmatter, resources: readResources(uri, resources) };
}

/** True for the URI of a SKILL.md without dots or empty parts in its path. */
export function isSkillUri(uri: unknown): uri is string {
  if (typeof uri !== "string" || NEVER_IN_URI.test(uri) || rootOf(uri) === undefined) return false;
  // A scheme such as file has an empty authority.
  return normalPath(uri.slice(uri.indexOf("://") + 3).replace(/^\//, "")) !== undefined;
}

function readResources(skill: string, list: readonly unknown[]): readonly SkillResource[] {
  const root = rootOf(skill) as string;
  const paths = new Set<string>();
  const resources = list.map((item, index): SkillResource => {
    const { uri, digest, size } = isObject(item) ? item : {};
    const refuse = (problem: string) => new Error(`resources[${index}] ${problem}`);
    const path = typeof uri === "string" && !NEVER_IN_URI.test(uri) ? pathBelow(root, uri) : undefined;
    if (path === undefined) throw refuse(`must have the URI of a file below ${root}`);
    if (!isDigest(digest)) throw refuse("must have a digest of sha256: and 64 lowercase hexadecimal digits");
    if (!Number.isSafeInteger(size) || (size as number) < 0) throw refuse("must have a size in bytes");
    if (paths.has(path)) throw refuse(`repeats the file ${path}`);
    paths.add(path);
    return { uri: uri as string, digest, size: size as number };
  });
  if (!resources.some(({ uri }) => uri === skill)) throw new Error(`resources must include ${SKILL_FILE}`);
  return resources;
}
