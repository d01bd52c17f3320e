import type { CallOptions } from "../../client/options.js";
import { messageOf } from "../../protocol/text.js";
import { differingFields, loadYaml, readSkillText, type SkillText } from "../frontmatter.js";
import { READ_DIRECTORY, SKILL_FILE, type Skill, type SkillFrontmatter } from "../types.js";
import { readDirectory, type SkillDirectory } from "./directory.js";
import type { EntryFiles, SkillFile, SkillReadOptions } from "./files.js";
import { assertReadOptions } from "./options.js";

/** Skill whose SKILL.md was read and verified. All files are read from its own server and verified by the same entry. */
export class HeldSkill {
  readonly #files: EntryFiles;
  readonly #text: SkillText;

  /** @internal */
  constructor(files: EntryFiles, text: SkillText) {
    this.#files = files;
    this.#text = text;
  }

  /** The host's name of the server that the skill comes from. Show it wherever the content is used. */
  get server(): string | undefined {
    return this.#files.origin.server;
  }

  /** Entry by which all files are verified. */
  get entry(): Skill {
    return this.#files.entry;
  }

  get frontmatter(): SkillFrontmatter {
    return this.#text.frontmatter;
  }

  /** Markdown of the SKILL.md after the frontmatter. It is untrusted input. */
  get body(): string {
    return this.#text.body;
  }

  /**
   * Reads a file by its path in the skill. Rejects with a `SkillError`: `not_in_skill` before anything is sent, and
   * `skill_mismatch` or `skill_changed` if the content is not that of the entry. After these two, nothing else is read.
   */
  read(path: string, options: SkillReadOptions = {}): Promise<SkillFile> {
    return this.#files.read(path, options);
  }

  /**
   * Lists a directory on the server, by default that of the skill. Files that the entry does not list are left out and
   * cannot be read.
   */
  async directory(path = "", given: SkillReadOptions = {}): Promise<SkillDirectory> {
    assertReadOptions(READ_DIRECTORY, given);
    this.#files.assertIntact();
    const { from, ...options } = given;
    const directory = this.#files.directoryAt(path, from);
    await this.#files.origin.assertDirectories(options);
    return readDirectory(this.#files, directory, options);
  }
}

/** Reads and verifies the SKILL.md of an entry: size and digest, then the frontmatter field by field. */
export async function holdSkill(files: EntryFiles, options: CallOptions): Promise<HeldSkill> {
  const parseYaml = await loadYaml();
  const { uri, text } = await files.read(SKILL_FILE, options);
  let skill: SkillText;
  try {
    if (text === undefined) throw new Error("it is not UTF-8 text");
    skill = readSkillText(text, parseYaml);
  } catch (error) {
    return files.fail(uri, messageOf(error), [], options);
  }
  const fields = differingFields(files.entry.frontmatter, skill.frontmatter);
  if (fields.length > 0) return files.fail(uri, `the frontmatter differs in ${fields.join(", ")}`, fields, options);
  return new HeldSkill(files, skill);
}
