import type { Context } from "../context.js";

/** Access rules of a definition. They are checked for each listing and for each use. */
export interface AccessOptions {
  /**
   * Returns false if the definition does not exist for this caller. `uri` is the URI of a single member of a resource
   * family; without it, the question is about the whole family.
   */
  readonly visible?: (ctx: Context, uri?: string) => boolean | Promise<boolean>;
  /**
   * Scopes that the caller's authorization must grant. If the gate supports step-up authorization, as `protect` does, a
   * caller without them sees the definition and learns on use which scopes it needs. Otherwise the definition does not
   * exist for the caller.
   */
  readonly requires?: { readonly scopes: readonly string[] };
}

/** True if a caller may use a definition, or, with `listing`, may see it. */
export type Access = (ctx: Context, listing?: boolean, uri?: string) => boolean | Promise<boolean>;

/** Combines access rules. Returns undefined if every caller has access. */
export function toAccess({ visible, requires }: AccessOptions): Access | undefined {
  if (requires === undefined) return visible && ((ctx, _, uri) => visible(ctx, uri));
  const { scopes } = requires;
  return (ctx, listing = false, uri) =>
    ((listing && ctx.canAskForMore) || ctx.grants(scopes)) && (visible === undefined || visible(ctx, uri));
}
