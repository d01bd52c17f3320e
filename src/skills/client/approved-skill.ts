import type { CallOptions } from "../../client/options.js";
import { SkillError } from "../error.js";
import type { Skill, SkillFrontmatter } from "../types.js";
import type { SkillDirectory } from "./directory.js";
import type { SkillFile, SkillReadOptions } from "./files.js";
import type { HeldSkill } from "./held-skill.js";

/** Parts of a catalogue that its skills use. */
export interface ApprovedSkillHost {
  /** Called when the server's entry of the skill differs from the approved one. */
  onChanged(): Promise<void>;
  /** Asks for approval, and reads a resource of another server. */
  readFrom(server: string, uri: string, options: CallOptions): Promise<SkillFile>;
}

/** Skill that the user approved. It has the same members as a {@link HeldSkill}. */
export class ApprovedSkill {
  /** The host's name of the server that the skill comes from. Show it wherever the content is used. */
  readonly server: string;
  /** Tools that the user granted to the skill. Ignore `allowed-tools` in the frontmatter. */
  readonly allowedTools: readonly string[];
  readonly #held: HeldSkill;
  readonly #host: ApprovedSkillHost;

  /** @internal */
  constructor(server: string, held: HeldSkill, allowedTools: readonly string[], host: ApprovedSkillHost) {
    this.server = server;
    this.allowedTools = allowedTools;
    this.#held = held;
    this.#host = host;
  }

  /** Entry that was approved, and by which all files are verified. */
  get entry(): Skill {
    return this.#held.entry;
  }

  get frontmatter(): SkillFrontmatter {
    return this.#held.frontmatter;
  }

  /** Markdown of the SKILL.md after the frontmatter. It is untrusted input. */
  get body(): string {
    return this.#held.body;
  }

  /** Reads a file by its path in the skill, from the server of the skill. See {@link HeldSkill.read}. */
  read(path: string, options: SkillReadOptions = {}): Promise<SkillFile> {
    return this.#watch(this.#held.read(path, options));
  }

  /** Lists a directory on the server of the skill. See {@link HeldSkill.directory}. */
  async directory(path = "", options: SkillReadOptions = {}): Promise<SkillDirectory> {
    const directory = await this.#watch(this.#held.directory(path, options));
    if (directory.changed.length > 0) await this.#host.onChanged();
    return directory;
  }

  /**
   * Reads a resource of another server for this skill. Asks for an approval that names both servers, each time. The
   * content is not verified.
   */
  readFrom(server: string, uri: string, options: CallOptions = {}): Promise<SkillFile> {
    return this.#host.readFrom(server, uri, options);
  }

  async #watch<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof SkillError && error.code === "skill_changed") await this.#host.onChanged();
      throw error;
    }
  }
}
