import type { Context } from "../context.js";

/** Who may see and use something. Asked for each listing and for each use, so both always agree. */
export interface AccessOptions {
  /** Whether it exists for this caller. */
  readonly visible?: (ctx: Context) => boolean | Promise<boolean>;
  /**
   * What the caller's authorization must grant. Where the gate can ask for more, as `protect` does, a caller without it
   * sees the thing and is told what to ask for; without such a gate the thing does not exist for the caller.
   */
  readonly requires?: { readonly scopes: readonly string[] };
}

/** Whether a caller may use something, or, in a listing, may know of it. */
export type Access = (ctx: Context, listing?: boolean) => boolean | Promise<boolean>;

/** Undefined where everybody may. */
export function toAccess({ visible, requires }: AccessOptions): Access | undefined {
  if (requires === undefined) return visible && ((ctx) => visible(ctx));
  const { scopes } = requires;
  return (ctx, listing = false) =>
    ((listing && ctx.canAskForMore) || ctx.grants(scopes)) && (visible === undefined || visible(ctx));
}
