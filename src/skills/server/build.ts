import { digestOf } from "../../protocol/digest.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { assertOptions } from "../../protocol/known-options.js";
import { messageOf } from "../../protocol/text.js";
import type { Resource } from "../../protocol/types/index.js";
import {
  ACCESS_OPTIONS,
  type Access,
  type AccessOptions,
  scopesOf,
  toAccess,
} from "../../server/definitions/access.js";
import { assertFrontmatter, type ParseYaml, readSkillText, splitSkillText, writeSkillText } from "../frontmatter.js";
import { mimeTypeOf } from "../mime.js";
import { textOf, toBytes } from "../text.js";
import { SKILL_FILE, type Skill, type SkillFrontmatter } from "../types.js";
import { isPath, toUri } from "../uri.js";
import { type AnySkill, type DynamicSkill, SKILL_OPTIONS, type SkillProblem, type SkillTree } from "./source.js";

/** File of a skill, as it is served. */
export interface ServedFile {
  /** Metadata for listings. */
  readonly resource: Resource;
  readonly bytes: Uint8Array;
  /** True if the bytes are UTF-8 text. */
  readonly isText: boolean;
  readonly digest: string;
}

/** Skill, as it is served. */
export interface ServedSkill {
  /** Entry of the skill. */
  readonly listing: Skill;
  /** Path of the skill below the scheme. */
  readonly path: string;
  /** Undefined if every caller may use the skill. */
  readonly access: Access | undefined;
  /** Scopes that the caller needs. */
  readonly scopes: readonly string[];
  readonly listed: boolean;
  /** Files by their path below the skill. Empty for a dynamic skill. */
  readonly files: ReadonlyMap<string, ServedFile>;
  /** Paths of directories without files. */
  readonly emptyDirectories: readonly string[];
  readonly dynamic: DynamicSkill | undefined;
}

/** Rules for URIs and access of the skills of a server. */
export interface BuildRules {
  readonly scheme: string;
  /** Path before the paths of all skills. Empty, or with a slash at its end. */
  readonly prefix: string;
  /** Returns the access rules of a skill from files. */
  readonly access: (skill: Skill) => AccessOptions | undefined;
  /** True if a skill from files is listed. */
  readonly listed: (skill: Skill) => boolean;
}

/** Skills, and the problems of the ones that are left out. */
export interface Loaded {
  readonly skills: readonly ServedSkill[];
  readonly problems: readonly SkillProblem[];
}

/** Builds the skills of a tree. A skill with a problem is left out and does not affect the others. */
export async function buildTree(tree: SkillTree, rules: BuildRules, parseYaml: ParseYaml): Promise<Loaded> {
  const roots = [...tree.files.keys()].filter((path) => baseOf(path) === SKILL_FILE).map(parentOf);
  const parts = new Map(roots.sort().map((root) => [root, new TreePart(root)]));
  const partsOf = (path: string) => ancestorsOf(path).flatMap((directory) => parts.get(directory) ?? []);
  const problems: SkillProblem[] = [];
  for (const refused of tree.refused ?? []) {
    const within = partsOf(refused.path);
    for (const part of within) part.refused ??= refused;
    if (within.length === 0) problems.push(refused);
  }
  for (const [path, bytes] of tree.files) for (const part of partsOf(path)) part.files.set(part.below(path), bytes);
  for (const path of tree.emptyDirectories ?? []) for (const part of partsOf(path)) part.empty.push(part.below(path));
  const skills: ServedSkill[] = [];
  for (const [root, part] of parts) {
    try {
      skills.push(await buildPart(part, rules, parseYaml));
    } catch (error) {
      problems.push({ path: join(root, SKILL_FILE), message: messageOf(error) });
    }
  }
  return { skills, problems };
}

/** Directory of a tree with a SKILL.md. Paths are below it. */
class TreePart {
  readonly files = new Map<string, Uint8Array>();
  readonly empty: string[] = [];
  /** First entry that cannot be served. */
  refused: SkillProblem | undefined;

  constructor(readonly root: string) {}

  below(path: string): string {
    return path.slice(this.root.length + 1);
  }
}

async function buildPart(
  { root, files, empty, refused }: TreePart,
  rules: BuildRules,
  parseYaml: ParseYaml,
): Promise<ServedSkill> {
  if (root === "") throw new Error("a skill needs a folder of its own: pass the folder that contains it");
  if (refused !== undefined) throw new Error(`the skill is not served because of ${refused.path}: ${refused.message}`);
  const frontmatter = frontmatterOf(files.get(SKILL_FILE) as Uint8Array, parseYaml);
  assertNamed(root, frontmatter);
  const skill = await build(rules.prefix + root, frontmatter, files, rules.scheme);
  const access = rules.access(skill.listing) ?? {};
  assertOptions("skills: the result of access", access, ACCESS_OPTIONS);
  return {
    ...skill,
    ...ruled(access, skill.listing.uri),
    listed: rules.listed(skill.listing),
    emptyDirectories: empty,
  };
}

/** Frontmatters by content, so that an unchanged file is parsed once. */
const parsed = new WeakMap<Uint8Array, SkillFrontmatter>();

function frontmatterOf(bytes: Uint8Array, parseYaml: ParseYaml): SkillFrontmatter {
  const frontmatter = parsed.get(bytes) ?? readSkillText(decode(bytes), parseYaml).frontmatter;
  parsed.set(bytes, frontmatter);
  return frontmatter;
}

/** Throws for a mistake in a definition. */
export function assertSkill(skill: AnySkill): void {
  const where = `skill ${JSON.stringify(skill?.path ?? skill?.frontmatter?.name)}`;
  assertOptions(where, skill, SKILL_OPTIONS);
  try {
    const { name } = assertFrontmatter(skill.frontmatter);
    splitSkillText(writeSkillText(skill.frontmatter, ""));
    const { path = name } = skill;
    assertNamed(path, skill.frontmatter);
    for (const file of [path, ...("files" in skill ? Object.keys(skill.files ?? {}) : [])]) assertSafe(file);
    if ("files" in skill && skill.files !== undefined && Object.hasOwn(skill.files, SKILL_FILE))
      throw new Error(`${SKILL_FILE} is made of frontmatter and body; remove it from files`);
    if (!("read" in skill) && typeof skill.body !== "string") throw new Error("body must be a string");
  } catch (error) {
    throw new DefinitionError(`${where}: ${messageOf(error)}`);
  }
}

/** Builds a skill that is defined in code. */
export async function buildSkill(definition: AnySkill, { scheme, prefix }: BuildRules): Promise<ServedSkill> {
  assertSkill(definition);
  // A copy as JSON, so that the entry and the file are equal whatever happens to the author's object.
  const frontmatter = JSON.parse(JSON.stringify(definition.frontmatter)) as SkillFrontmatter;
  const path = prefix + (definition.path ?? frontmatter.name);
  const uri = toUri(scheme, join(path, SKILL_FILE));
  const access = { ...ruled(definition, uri), listed: definition.listed ?? true };
  if ("read" in definition) {
    const listing: Skill = { uri, frontmatter, resources: "dynamic" };
    return { listing, path, ...access, files: new Map(), emptyDirectories: [], dynamic: definition };
  }
  const files = new Map([[SKILL_FILE, toBytes(writeSkillText(frontmatter, definition.body))]]);
  for (const [file, content] of Object.entries(definition.files ?? {})) files.set(file, toBytes(content));
  return { ...(await build(path, frontmatter, files, scheme)), ...access };
}

/** Returns the access rules of a skill. They are asked with the URI of its SKILL.md. */
function ruled(options: AccessOptions, uri: string): Pick<ServedSkill, "access" | "scopes"> {
  const access = toAccess(options);
  return { access: access && ((ctx, listing) => access(ctx, listing, uri)), scopes: scopesOf(options, uri) };
}

async function build(
  path: string,
  frontmatter: SkillFrontmatter,
  contents: ReadonlyMap<string, Uint8Array>,
  scheme: string,
): Promise<ServedSkill> {
  const files = new Map<string, ServedFile>();
  for (const [file, bytes] of contents) {
    assertSafe(file);
    const { isText, digest } = await measure(bytes);
    const described = file === SKILL_FILE ? frontmatter : undefined;
    files.set(file, {
      resource: describe(toUri(scheme, join(path, file)), baseOf(file), isText, bytes.byteLength, described),
      bytes,
      isText,
      digest,
    });
  }
  const listing: Skill = { uri: toUri(scheme, join(path, SKILL_FILE)), frontmatter, resources: [] };
  const skill = {
    listing,
    path,
    access: undefined,
    scopes: [],
    listed: true,
    emptyDirectories: [],
    dynamic: undefined,
  };
  return withFiles(skill, files);
}

/** Returns a skill with these files. Its entry lists them in the order of their paths. */
export function withFiles(skill: Omit<ServedSkill, "files">, contents: ReadonlyMap<string, ServedFile>): ServedSkill {
  const files = new Map([...contents].sort(([one], [other]) => (one < other ? -1 : 1)));
  const resources = [...files.values()].map(({ resource, digest, bytes }) => {
    return { uri: resource.uri, digest, size: bytes.byteLength };
  });
  return { ...skill, listing: { ...skill.listing, resources }, files };
}

/** Returns the metadata of a file. A SKILL.md has the name and description of its frontmatter. */
export function describe(
  uri: string,
  file: string,
  isText: boolean,
  size: number | undefined,
  frontmatter?: { readonly name: string; readonly description: string },
): Resource {
  const { name = file, description } = frontmatter ?? {};
  const mimeType = mimeTypeOf(file, isText);
  return {
    uri,
    name,
    ...(description !== undefined && { description }),
    mimeType,
    ...(size !== undefined && { size }),
  };
}

interface Measured {
  readonly isText: boolean;
  readonly digest: string;
}

/** Results by content, so that an unchanged file is measured once. */
const measured = new WeakMap<Uint8Array, Promise<Measured>>();

function measure(bytes: Uint8Array): Promise<Measured> {
  let result = measured.get(bytes);
  if (result === undefined) {
    result = digestOf(bytes).then((digest) => ({ isText: textOf(bytes) !== undefined, digest }));
    measured.set(bytes, result);
  }
  return result;
}

/** Returns the text of a file. Throws if it is not UTF-8. */
export function decode(bytes: Uint8Array): string {
  const text = textOf(bytes);
  if (text === undefined) throw new Error("the file is not UTF-8 text");
  return text;
}

function assertNamed(path: string, { name, metadata }: SkillFrontmatter): void {
  const last = baseOf(path);
  if (last !== name) {
    const names = `${JSON.stringify(name)}, but the folder is ${JSON.stringify(last)}`;
    throw new Error(`the name in the frontmatter is ${names}: both must be equal`);
  }
  // Agent Skills defines it so, and clients refuse a skill with other values.
  const isTexts = isObject(metadata) && Object.values(metadata).every((value) => typeof value === "string");
  if (metadata !== undefined && !isTexts)
    throw new Error("metadata in the frontmatter must be a map of strings: put numbers and booleans in quotes");
}

function assertSafe(path: string): void {
  if (!isPath(path))
    throw new Error(`the path ${JSON.stringify(path)} must be relative, without empty parts, dots or backslashes`);
}

export function join(directory: string, file: string): string {
  return directory === "" ? file : `${directory}/${file}`;
}

export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Returns the directories that contain a path, the innermost first and the root last. */
function ancestorsOf(path: string): readonly string[] {
  const parent = parentOf(path);
  return parent === "" ? [""] : [parent, ...ancestorsOf(parent)];
}
