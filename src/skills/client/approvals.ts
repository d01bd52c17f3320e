import { isObject } from "../../protocol/json.js";
import { compareEntries } from "../difference.js";
import type { Skill, SkillDifference, SkillFrontmatter } from "../types.js";
import { toSkill } from "./entry.js";

/** Question to the user: may the host load this skill? */
export interface SkillApprovalRequest {
  /** The host's name of the server. */
  readonly server: string;
  readonly skill: Skill;
  /** Tools that the skill asks for by `allowed-tools`. They are granted only if the decision says so. */
  readonly allowedTools: readonly string[];
  /** Difference to the entry that was approved before, if that approval was kept. */
  readonly change?: SkillDifference;
  /** Resource of another server that is to be read for this skill. The decision is for this one read. */
  readonly readFrom?: { readonly server: string; readonly uri: string };
}

/** Decision of the user. `true` approves once. */
export type SkillDecision =
  | boolean
  | {
      /**
       * Keeps the approval until the entry of the skill changes. Has no effect for a dynamic skill.
       * @default false
       */
      readonly keep?: boolean | undefined;
      /**
       * Grants the tools in `allowed-tools` of the skill.
       * @default false
       */
      readonly allowedTools?: boolean | undefined;
    };

/** Approval that was kept. */
export interface SkillApproval {
  readonly server: string;
  /** Entry that was approved. The approval covers no other files and no other content. */
  readonly skill: Skill;
  readonly allowedTools: boolean;
  /** True after the server's entry differed. The user is asked again. */
  readonly revoked?: boolean;
}

/** Store of approvals. The values are JSON. */
export interface SkillApprovals {
  /** Returns the value, or undefined. May return a promise. */
  get(key: string): unknown;
  set(key: string, approval: SkillApproval): void | Promise<void>;
}

/** Kept approvals of a catalogue. An approval is known by the host's name of the server and the URI of the skill. */
export class KeptApprovals {
  readonly #store: SkillApprovals;

  constructor(store: SkillApprovals = new Map<string, SkillApproval>() as unknown as SkillApprovals) {
    this.#store = store;
  }

  /** Returns the approval that covers an entry, or the difference to the entry that it covers. */
  async find(
    server: string,
    skill: Skill,
  ): Promise<{ readonly approval?: SkillApproval; readonly change?: SkillDifference }> {
    const kept = await this.#read(server, skill);
    if (kept === undefined) return {};
    const change = compareEntries(kept.skill, skill);
    if (change === undefined) return kept.revoked === true ? {} : { approval: kept };
    if (kept.revoked !== true) await this.#store.set(keyOf(server, skill), { ...kept, revoked: true });
    return { change };
  }

  /** Keeps an approval. A dynamic skill has no digests to which an approval could be bound. */
  async keep(server: string, skill: Skill, allowedTools: boolean): Promise<void> {
    if (skill.resources !== "dynamic") await this.#store.set(keyOf(server, skill), { server, skill, allowedTools });
  }

  /** Revokes the approval of an entry, since the server has another one. Leaves an approval of that one. */
  async revoke(server: string, skill: Skill): Promise<void> {
    const kept = await this.#read(server, skill);
    if (kept !== undefined && compareEntries(kept.skill, skill) === undefined)
      await this.#store.set(keyOf(server, skill), { ...kept, revoked: true });
  }

  /** Returns the stored approval of a skill, whatever its content was. */
  async #read(server: string, skill: Skill): Promise<SkillApproval | undefined> {
    const kept = toApproval(await this.#store.get(keyOf(server, skill)));
    return kept?.server === server && kept.skill.uri === skill.uri ? kept : undefined;
  }
}

function keyOf(server: string, { uri }: Skill): string {
  return JSON.stringify([server, uri]);
}

/** Returns a stored value as an approval. Undefined if it is damaged. */
function toApproval(value: unknown): SkillApproval | undefined {
  if (!isObject(value)) return undefined;
  try {
    const { server, allowedTools, revoked = false } = value as Partial<SkillApproval>;
    const skill = toSkill(value.skill);
    if (typeof server !== "string" || skill.resources === "dynamic") return undefined;
    return { server, skill, allowedTools: allowedTools === true, revoked: revoked !== false };
  } catch {
    return undefined;
  }
}

/** Returns the tools that a frontmatter asks for. */
export function askedTools(frontmatter: SkillFrontmatter): readonly string[] {
  const asked = frontmatter["allowed-tools"];
  if (typeof asked === "string") return asked.match(/[^\s(]+(?:\([^()]*\))?/g) ?? [];
  return Array.isArray(asked) ? asked.filter((tool) => typeof tool === "string") : [];
}
