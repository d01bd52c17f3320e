import { SkillError } from "../error.js";
import { loadYaml, type ParseYaml } from "../frontmatter.js";
import type { Skill } from "../types.js";
import { type BuildRules, buildSkill, buildTree, type ServedSkill } from "./build.js";
import type { SkillsLimits } from "./options.js";
import type { AnySkill, SkillFiles, SkillProblem } from "./source.js";

/** Skills that were loaded, with all problems. */
export interface Loaded {
  readonly skills: readonly ServedSkill[];
  readonly problems: readonly SkillProblem[];
}

/** Loads skills from files and definitions. */
export class SkillLoader {
  readonly #rules: BuildRules;
  readonly #limits: SkillsLimits;
  readonly #strict: boolean;
  #parser: Promise<ParseYaml> | undefined;
  readonly #built = new WeakMap<AnySkill, Promise<ServedSkill>>();

  constructor(rules: BuildRules, limits: SkillsLimits, strict: boolean) {
    this.#rules = rules;
    this.#limits = limits;
    this.#strict = strict;
  }

  /** Reads all sources. Rejects if a source cannot be read, or, with `strict`, if there is a problem. */
  async load(files: readonly SkillFiles[], definitions: readonly AnySkill[]): Promise<Loaded> {
    const trees = await Promise.all(files.map((source) => this.#read(source)));
    const defined = await this.build(definitions);
    const skills = [...trees.flatMap((tree) => tree.skills), ...defined];
    const { kept, repeated } = withoutRepeated(skills);
    const sorted = kept.sort((one, other) => (one.listing.uri < other.listing.uri ? -1 : 1));
    const problems = [
      ...trees.flatMap((tree) => tree.problems),
      ...repeated,
      ...sorted.flatMap((skill) => sizeProblems(skill, this.#limits)),
      ...nameProblems(sorted.filter(({ listed }) => listed).map(({ listing }) => listing)),
    ];
    if (this.#strict && problems.length > 0) {
      const texts = problems.map(({ path, message }) => `${path}: ${message}`);
      throw new SkillError("invalid_skill", `The skills are not valid: ${texts.join("; ")}`, { problems: texts });
    }
    return { skills: sorted, problems };
  }

  /** Builds skills that are defined in code. A definition is built once. */
  build(definitions: readonly AnySkill[]): Promise<readonly ServedSkill[]> {
    return Promise.all(
      definitions.map((definition) => {
        const built = this.#built.get(definition) ?? buildSkill(definition, this.#rules);
        this.#built.set(definition, built);
        return built;
      }),
    );
  }

  async #read(source: SkillFiles): Promise<Loaded> {
    this.#parser ??= loadYaml();
    const [tree, parser] = await Promise.all([source.read(), this.#parser]);
    return buildTree(tree, this.#rules, parser);
  }
}

/** Leaves out skills whose URI another one has. */
export function withoutRepeated(skills: readonly ServedSkill[]): {
  readonly kept: ServedSkill[];
  readonly repeated: readonly SkillProblem[];
} {
  const uris = new Set<string>();
  const repeated: SkillProblem[] = [];
  const kept = skills.filter(({ listing: { uri }, path }) => {
    if (!uris.has(uri)) return uris.add(uri);
    repeated.push({ path, message: `another skill has the URI ${uri}; this one is not served` });
    return false;
  });
  return { kept, repeated };
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
