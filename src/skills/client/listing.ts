import type { Client } from "../../client/client.js";
import type { CallOptions } from "../../client/options.js";
import { Pages } from "../../client/pages.js";
import { ProtocolError } from "../../protocol/errors.js";
import type { SkillsClientLimits } from "./options.js";

/** Listing by a method of the extension. */
export interface ListedBy {
  readonly method: string;
  readonly params?: { readonly [name: string]: unknown };
  /** Member of the result that has the items. */
  readonly member: string;
}

/** Reads all pages of a listing. Returns the items and the shortest time that the server lets a page be reused. */
export async function readAll(
  client: Client,
  { method, params, member }: ListedBy,
  limits: SkillsClientLimits,
  options: CallOptions,
): Promise<{ readonly items: readonly unknown[]; readonly ttlMs: number }> {
  let ttlMs = limits.maxTtlMs;
  const read = async (at: { readonly cursor: string } | undefined) => {
    const page = await client.request(method, { ...params, ...at }, options);
    const { [member]: items, nextCursor = null } = page;
    if (!Array.isArray(items)) throw new ProtocolError(`${method}: /${member} must be a list`);
    if (nextCursor !== null && typeof nextCursor !== "string")
      throw new ProtocolError(`${method}: /nextCursor must be a string`);
    const said = typeof page.ttlMs === "number" && page.ttlMs > 0 ? page.ttlMs : 0;
    // A listing that is read again from the start must not keep the time of its first attempt.
    ttlMs = at === undefined ? Math.min(limits.maxTtlMs, said) : Math.min(ttlMs, said);
    return { [member]: items, nextCursor };
  };
  return { items: await new Pages<unknown>(member, read, limits).all(), ttlMs };
}
