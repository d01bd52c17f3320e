import { DefinitionError } from "../../protocol/errors.js";
import { isTextList } from "../../protocol/json.js";
import type { Known } from "../../protocol/known-options.js";
import { quoted } from "../../protocol/text.js";
import type { Caller } from "../context.js";

/** Access rules of a definition. They are checked for each listing and for each use. */
export interface AccessOptions {
  /**
   * Returns false if the definition does not exist for this caller. `uri` is the URI of a member of a resource family or
   * of a skill, or empty if the question is about the whole family.
   */
  readonly visible?: ((caller: Caller, uri: string) => boolean | Promise<boolean>) | undefined;
  /**
   * Scopes that the caller's authorization must grant. If the gate supports step-up authorization, as `protect` does, a
   * caller without them sees the definition and learns on use which scopes it needs. Otherwise the definition does not
   * exist for the caller. A resource family may return the scopes of each of its URIs.
   */
  readonly requires?:
    | {
        /** List of scopes, or a function of the URI of a resource. */
        readonly scopes: readonly string[] | ((uri: string) => readonly string[]);
      }
    | undefined;
}

export const ACCESS_OPTIONS: Known<AccessOptions> = {
  visible: "function",
  requires: { scopes: [{ array: "string", function: "any" }, "some"] },
};

/** True if a caller may use a definition, or, with `listing`, may see it. */
export type Access = (caller: Caller, listing?: boolean, uri?: string) => boolean | Promise<boolean>;

/** Combines access rules. Returns undefined if every caller has access. */
export function toAccess({ visible, requires }: AccessOptions): Access | undefined {
  if (requires === undefined) return visible && ((caller, _, uri = "") => visible(caller, uri));
  return (caller, listing = false, uri = "") =>
    ((listing && caller.canAskForMore) || caller.grants(scopesOf({ requires }, uri))) &&
    (visible?.(caller, uri) ?? true);
}

/** Returns the scopes that a definition requires. `uri` is the URI of a member of a resource family. */
export function scopesOf({ requires }: AccessOptions, uri: string): readonly string[] {
  const { scopes = [] } = requires ?? {};
  if (typeof scopes !== "function") return scopes;
  const needed = scopes(uri);
  if (isTextList(needed)) return needed;
  throw new DefinitionError(`requires.scopes must return a list of strings, got ${typeof needed} for ${quoted(uri)}`);
}
