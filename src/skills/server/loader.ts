import { messageOf } from "../../protocol/text.js";
import { SkillError } from "../error.js";
import { loadYaml, type ParseYaml } from "../frontmatter.js";
import type { Skill } from "../types.js";
import { type BuildRules, buildSkill, buildTree, type Loaded, type ServedSkill } from "./build.js";
import { combine } from "./combine.js";
import type { SkillsLimits } from "./options.js";
import type { AnySkill, SkillFiles, SkillProblem } from "./source.js";

/** Loads skills from files and definitions. */
export class SkillLoader {
  readonly #rules: BuildRules;
  readonly #limits: SkillsLimits;
  readonly #strict: boolean;
  #parser: Promise<ParseYaml> | undefined;
  readonly #built = new WeakMap<AnySkill, Promise<ServedSkill | undefined>>();

  constructor(rules: BuildRules, limits: SkillsLimits, strict: boolean) {
    this.#rules = rules;
    this.#limits = limits;
    this.#strict = strict;
  }

  /** Reads all sources. Rejects if a source cannot be read, or, with `strict`, if there is a problem. */
  async load(files: readonly SkillFiles[], definitions: readonly AnySkill[]): Promise<Loaded> {
    const trees = await Promise.all(files.map((source) => this.#read(source)));
    const parts = [...trees, await this.build(definitions)];
    const combined = combine(parts.flatMap(({ skills }) => skills));
    const sorted = [...combined.skills].sort((one, other) => (one.listing.uri < other.listing.uri ? -1 : 1));
    const problems = [
      ...parts.flatMap((part) => part.problems),
      ...combined.problems,
      ...sorted.flatMap((skill) => sizeProblems(skill, this.#limits)),
      ...nameProblems(sorted.filter(({ listed }) => listed).map(({ listing }) => listing)),
    ];
    if (this.#strict && problems.length > 0) {
      const texts = problems.map(({ path, message }) => `${path}: ${message}`);
      throw new SkillError("invalid_skill", `The skills are not valid: ${texts.join("; ")}`, { problems: texts });
    }
    return { skills: sorted, problems };
  }

  /** Builds skills that are defined in code. A definition is built once, and its problem is returned once. */
  async build(definitions: readonly AnySkill[]): Promise<Loaded> {
    const problems: SkillProblem[] = [];
    const built = definitions.map((definition) => {
      const known = this.#built.get(definition);
      if (known !== undefined) return known;
      const skill = buildSkill(definition, this.#rules).catch((error: unknown) => {
        const path = definition.path ?? String(definition.frontmatter?.name);
        problems.push({ path, message: messageOf(error) });
        return undefined;
      });
      this.#built.set(definition, skill);
      return skill;
    });
    const skills = (await Promise.all(built)).filter((skill) => skill !== undefined);
    return { skills, problems };
  }

  async #read(source: SkillFiles): Promise<Loaded> {
    this.#parser ??= loadYaml();
    const [tree, parser] = await Promise.all([source.read(), this.#parser]);
    return buildTree(tree, this.#rules, parser);
  }
}

function sizeProblems({ path, files }: ServedSkill, { maxFiles, maxBytes }: SkillsLimits): readonly SkillProblem[] {
  const problems: SkillProblem[] = [];
  const remedy = "clients may refuse it: split the skill, or raise";
  if (files.size > maxFiles) {
    const message = `the skill has ${files.size} files, more than ${maxFiles}; ${remedy} limits.maxFiles`;
    problems.push({ path, message });
  }
  const bytes = [...files.values()].reduce((sum, file) => sum + file.bytes.byteLength, 0);
  if (bytes > maxBytes) {
    const message = `the skill has ${bytes} bytes, more than ${maxBytes}; ${remedy} limits.maxBytes`;
    problems.push({ path, message });
  }
  return problems;
}

function nameProblems(skills: readonly Skill[]): readonly SkillProblem[] {
  const first = new Map<string, string>();
  return skills.flatMap(({ uri, frontmatter: { name } }) => {
    const other = first.get(name);
    if (other === undefined) {
      first.set(name, uri);
      return [];
    }
    return [{ path: uri, message: `the skill ${other} has the same name; users may take one for the other` }];
  });
}
