import type { Resource } from "../../protocol/types/index.js";
import type { Caller, Context } from "../../server/context.js";
import type { Access } from "../../server/definitions/access.js";
import { Catalogue } from "../../server/definitions/catalogue.js";
import type { ResourceReturn } from "../../server/definitions/resource.js";
import { writeSkillText } from "../frontmatter.js";
import { DIRECTORY_TYPE, SKILL_FILE } from "../types.js";
import { pathOf, toUri } from "../uri.js";
import { baseOf, decode, describe, join, parentOf, type ServedFile, type ServedSkill } from "./build.js";

/** File or directory with the skills that contain it. More than one if skills are nested. */
interface Owned<T> {
  readonly item: T;
  readonly owners: ServedSkill[];
}

interface Child {
  readonly listing: Resource;
  readonly access: Access | undefined;
}

/** Skills of a server at one moment. It does not change, so that all answers made from it agree. */
export class Snapshot {
  /** Listed skills. */
  readonly listing: Catalogue<ServedSkill>;
  readonly skills: readonly ServedSkill[];
  readonly #scheme: string;
  readonly #pageSize: number;
  readonly #byPath = new Map<string, ServedSkill>();
  readonly #files = new Map<string, Owned<ServedFile>>();
  /** Generated skills. A nested one is before the skill around it. */
  readonly #dynamic: readonly ServedSkill[];
  #directories: Map<string, Catalogue<Child>> | undefined;
  readonly #owners = new Map<string, ServedSkill[]>();

  constructor(skills: readonly ServedSkill[], scheme: string, pageSize: number) {
    this.skills = skills;
    this.#scheme = scheme;
    this.#pageSize = pageSize;
    this.listing = new Catalogue("skill", "skills", pageSize);
    for (const skill of skills) {
      this.#byPath.set(join(skill.path, SKILL_FILE), skill);
      if (skill.listed) this.listing.add(skill.listing.uri, skill);
      for (const [path, item] of skill.files) own(this.#files, join(skill.path, path), item, skill);
    }
    this.#dynamic = skills
      .filter(({ dynamic }) => dynamic !== undefined)
      .sort((one, other) => other.path.length - one.path.length);
  }

  /** Returns the skill whose SKILL.md has the URI, if the caller may use it. */
  async skill(uri: string, caller: Caller): Promise<ServedSkill | undefined> {
    const path = pathOf(this.#scheme, uri);
    const skill = path === undefined ? undefined : this.#byPath.get(path);
    return skill !== undefined && (await isOpen([skill], caller)) ? skill : undefined;
  }

  /** Returns the content of a file, or undefined if it does not exist for the caller. */
  async read(uri: string, ctx: Context): Promise<ResourceReturn> {
    const path = pathOf(this.#scheme, uri);
    if (path === undefined) return undefined;
    const file = this.#files.get(path);
    if (file === undefined) return this.#generate(path, uri, ctx);
    if (!(await isOpen(file.owners, ctx))) return undefined;
    const { resource, bytes, isText } = file.item;
    const { mimeType = "" } = resource;
    return isText ? { text: decode(bytes), mimeType } : { blob: bytes, mimeType };
  }

  /** True if the file exists for the caller. */
  async sees(uri: string, caller: Caller): Promise<boolean> {
    const path = pathOf(this.#scheme, uri);
    if (path === undefined) return false;
    const owners = this.#files.get(path)?.owners ?? this.#dynamic.filter((skill) => isWithin(skill, path));
    return isOpen(owners, caller);
  }

  /** Returns the scopes without which nobody may use the file, directory or skill. */
  scopesOf(uri: string): readonly string[] {
    const path = pathOf(this.#scheme, uri);
    if (path === undefined) return [];
    this.#directories ??= this.#readDirectories();
    const owners =
      this.#files.get(path)?.owners ?? this.#owners.get(path) ?? this.#dynamic.filter((skill) => isWithin(skill, path));
    const [first, ...others] = owners;
    return first?.scopes.filter((scope) => others.every(({ scopes }) => scopes.includes(scope))) ?? [];
  }

  /** Lists the SKILL.md files for `resources/list`. */
  async resources(caller: Caller): Promise<readonly Resource[]> {
    const seen = await Promise.all(this.listing.values().map(({ access }) => access?.(caller, true) ?? true));
    return this.listing
      .values()
      .filter((_, index) => seen[index])
      .map((skill) => describeSkill(skill));
  }

  /** Returns the contents of a directory, or undefined if it does not exist for the caller. */
  async directory(uri: string, ctx: Context): Promise<Catalogue<Child> | undefined> {
    const path = pathOf(this.#scheme, uri);
    if (path === undefined) return undefined;
    this.#directories ??= this.#readDirectories();
    const found = this.#directories.get(path);
    if (found !== undefined) return (await isOpen(this.#owners.get(path) ?? [], ctx)) ? found : undefined;
    return this.#generateDirectory(path, ctx);
  }

  async #generate(path: string, uri: string, ctx: Context): Promise<ResourceReturn> {
    for (const skill of this.#dynamic) {
      if (!isWithin(skill, path) || !(await isOpen([skill], ctx))) continue;
      const file = path.slice(skill.path.length + 1);
      const content = await skill.dynamic?.read(file, ctx);
      if (content === undefined) continue;
      const isText = typeof content === "string";
      const { mimeType = "" } = describe(uri, baseOf(file), isText, undefined);
      if (!isText) return { blob: content, mimeType };
      const text = file === SKILL_FILE ? writeSkillText(skill.listing.frontmatter, content) : content;
      return { text, mimeType };
    }
    return undefined;
  }

  async #generateDirectory(path: string, ctx: Context): Promise<Catalogue<Child> | undefined> {
    for (const skill of this.#dynamic) {
      const isRoot = path === skill.path;
      if (!(isRoot || isWithin(skill, path)) || !(await isOpen([skill], ctx))) continue;
      const below = path.slice(skill.path.length + 1);
      const names = (await skill.dynamic?.list?.(below, ctx)) ?? (isRoot ? [SKILL_FILE] : undefined);
      if (names === undefined) continue;
      const found = new Catalogue<Child>("file", "resources", this.#pageSize);
      for (const name of names) {
        const listing = name.endsWith("/")
          ? this.#describeDirectory(join(path, name.slice(0, -1)))
          : this.#describeGenerated(join(path, name), skill);
        found.add(listing.uri, { listing, access: undefined });
      }
      return found;
    }
    return undefined;
  }

  #describeGenerated(path: string, skill: ServedSkill): Resource {
    if (path === join(skill.path, SKILL_FILE)) return describeSkill(skill);
    return describe(toUri(this.#scheme, path), baseOf(path), true, undefined);
  }

  #describeDirectory(path: string): Resource {
    return { uri: toUri(this.#scheme, path), name: baseOf(path), mimeType: DIRECTORY_TYPE };
  }

  #readDirectories(): Map<string, Catalogue<Child>> {
    const children = new Map<string, Map<string, Owned<Resource>>>();
    const enter = (directory: string) => {
      const entries = children.get(directory) ?? new Map<string, Owned<Resource>>();
      children.set(directory, entries);
      return entries;
    };
    /** Adds an entry to its directory, and each directory up to the skill's to the one that contains it. */
    const add = (path: string, resource: Resource, skill: ServedSkill) => {
      const directory = parentOf(path);
      own(enter(directory), path, resource, skill);
      if (directory !== skill.path) add(directory, this.#describeDirectory(directory), skill);
    };
    for (const skill of this.skills) {
      if (skill.dynamic !== undefined) continue;
      for (const [path, { resource }] of skill.files) add(join(skill.path, path), resource, skill);
      for (const path of skill.emptyDirectories) {
        const full = join(skill.path, path);
        enter(full);
        this.#ownersOf(full).push(skill);
        add(full, this.#describeDirectory(full), skill);
      }
    }
    const directories = new Map<string, Catalogue<Child>>();
    for (const [directory, entries] of children) {
      const found = new Catalogue<Child>("file", "resources", this.#pageSize);
      for (const { item, owners } of entries.values()) {
        found.add(item.uri, { listing: item, access: accessOf(owners) });
        this.#ownersOf(directory).push(...owners);
      }
      directories.set(directory, found);
    }
    return directories;
  }

  #ownersOf(directory: string): ServedSkill[] {
    const owners = this.#owners.get(directory) ?? [];
    this.#owners.set(directory, owners);
    return owners;
  }
}

function describeSkill({ listing: { uri, frontmatter }, files }: ServedSkill): Resource {
  return files.get(SKILL_FILE)?.resource ?? describe(uri, SKILL_FILE, true, undefined, frontmatter);
}

/** Adds an item, or an owner of it. A SKILL.md is described by its own skill, not by one around that. */
function own<T>(map: Map<string, Owned<T>>, path: string, item: T, skill: ServedSkill): void {
  const { item: known = item, owners = [] } = map.get(path) ?? {};
  if (!owners.includes(skill)) owners.push(skill);
  map.set(path, { item: path === join(skill.path, SKILL_FILE) ? item : known, owners });
}

function isWithin({ path: root }: ServedSkill, path: string): boolean {
  return path.startsWith(`${root}/`);
}

/** True if the caller may use one of the skills. */
async function isOpen(skills: readonly ServedSkill[], caller: Caller, listing = false): Promise<boolean> {
  if (skills.some(({ access }) => access === undefined)) return true;
  for (const { access } of skills) if (await access?.(caller, listing)) return true;
  return false;
}

function accessOf(owners: readonly ServedSkill[]): Access | undefined {
  if (owners.some(({ access }) => access === undefined)) return undefined;
  return (caller, listing) => isOpen(owners, caller, listing);
}
