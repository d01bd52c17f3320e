import { INTERNAL_ERROR, INVALID_PARAMS, Refusal } from "../protocol/jsonrpc/errors.js";
import type { CallOrigin, ServerRuntime } from "./server-era.js";

/** The one that a subscription is counted for. */
export function ownerOf({ principal }: CallOrigin, connection: unknown): unknown {
  return principal ?? connection;
}

/** Throws where an owner may not open so many subscriptions more, or where a URI is too long to be kept. */
export function assertMayOpen(runtime: ServerRuntime, owner: unknown, count: number, uris: readonly string[]): void {
  const { maxSubscriptions, maxSubscriptionsPerPrincipal, maxUriChars } = runtime.limits;
  const { open, byOwner } = runtime.subscriptions;
  if (open + count > maxSubscriptions) throw tooMany("this server", maxSubscriptions, "maxSubscriptions");
  if ((byOwner.get(owner) ?? 0) + count > maxSubscriptionsPerPrincipal)
    throw tooMany("a client", maxSubscriptionsPerPrincipal, "maxSubscriptionsPerPrincipal");
  if (uris.some((uri) => uri.length > maxUriChars))
    throw new Refusal(
      INVALID_PARAMS,
      `Invalid params: a URI to watch must have at most ${maxUriChars} characters (limits.maxUriChars)`,
    );
}

function tooMany(whose: string, most: number, limit: string): Refusal {
  return new Refusal(
    INTERNAL_ERROR,
    `Too many subscriptions: ${whose} may have ${most} open at a time (limits.${limit})`,
  );
}

/** Counts subscriptions that an owner opens, or, as a negative number, closes. */
export function countOpen({ subscriptions }: ServerRuntime, owner: unknown, change: number): void {
  const { byOwner } = subscriptions;
  const left = (byOwner.get(owner) ?? 0) + change;
  subscriptions.open += change;
  if (left > 0) byOwner.set(owner, left);
  else byOwner.delete(owner);
}

/** Somebody begins to watch a resource. */
export function retain(runtime: ServerRuntime, uri: string): void {
  const watching = runtime.watched.get(uri) ?? 0;
  runtime.watched.set(uri, watching + 1);
  if (watching === 0) tell(runtime, "onSubscribe", uri);
}

/** Somebody stops watching a resource. */
export function release(runtime: ServerRuntime, uri: string): void {
  const left = (runtime.watched.get(uri) ?? 0) - 1;
  if (left > 0) runtime.watched.set(uri, left);
  else if (runtime.watched.delete(uri)) tell(runtime, "onUnsubscribe", uri);
}

function tell(runtime: ServerRuntime, hook: "onSubscribe" | "onUnsubscribe", uri: string): void {
  try {
    runtime.options.resources?.[hook]?.(uri);
  } catch (error) {
    runtime.report(error, { where: hook });
  }
}
