import type { Context } from "./context.js";

/** Who may see and use something. Asked for each listing and for each use, so both always agree. */
export interface AccessOptions {
  /** Whether it exists for this caller. */
  readonly visible?: (ctx: Context) => boolean | Promise<boolean>;
  /** What the caller's authorization must grant; without all of it, the thing does not exist for the caller. */
  readonly requires?: { readonly scopes: readonly string[] };
}

export type Access = (ctx: Context) => boolean | Promise<boolean>;

/** Undefined where everybody may. */
export function toAccess({ visible, requires }: AccessOptions): Access | undefined {
  if (requires === undefined) return visible;
  const { scopes } = requires;
  return (ctx) => {
    const granted = scopesOf(ctx.auth);
    return scopes.every((scope) => granted.includes(scope)) && (visible === undefined || visible(ctx));
  };
}

function scopesOf(auth: unknown): readonly unknown[] {
  const scopes = typeof auth === "object" && auth !== null ? (auth as { scopes?: unknown }).scopes : undefined;
  return Array.isArray(scopes) ? scopes : [];
}
