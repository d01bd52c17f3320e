import type { Skill } from "bowline/skills/client";
import type { Choice, Target } from "../driver.js";

/** Interface of the checks to the skills of a client of any SDK. */
export interface SkillDriver {
  /** The negotiated protocol version. */
  readonly version: string | undefined;
  /** True if the server announced skills, and the reading of directories. */
  readonly announced: { readonly skills: boolean; readonly directories: boolean };
  /** Lists the skills of all pages. */
  list(): Promise<readonly Skill[]>;
  get(uri: string): Promise<Skill>;
  /** Reads a file by its entry and decoded path. Rejects if the content does not match the entry. */
  read(skill: Skill, path: string): Promise<Uint8Array>;
  /** Lists the URIs in a directory of a skill. */
  directory(skill: Skill, path: string): Promise<readonly string[]>;
  /** Asks for a URI that need not be a directory. */
  readDirectory(uri: string): Promise<unknown>;
  /** Finds the skills in the list of resources, as clients without the extension do. */
  findInResources?(): Promise<readonly SkillSummary[]>;
  /** Subscribes to changes of the list of resources, of which skills are part. */
  watch?(): Promise<{ readonly changed: Promise<unknown>; close(): Promise<void> }>;
  /** Tells why the client itself refused a file. */
  refusalOf(error: unknown): "unlisted" | "differs" | undefined;
  /** Returns the JSON-RPC error code of a rejected call. */
  codeOf(error: unknown): number | undefined;
  close(): Promise<void>;
}

export interface SkillSummary {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
}

export type OpenSkillDriver = (target: Target, choice: Choice) => Promise<SkillDriver>;

/** Percent-encodes a path, as a reference in a SKILL.md has it. */
export function toReference(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Returns the decoded path of a file in a skill. SDKs encode the same name in different ways. */
export function pathIn(skill: string, uri: string): string {
  const root = skill.slice(0, -"SKILL.md".length);
  if (!uri.startsWith(root)) throw new Error(`${uri} is not in ${root}`);
  return decodeURIComponent(uri.slice(root.length));
}
