import { INVALID_PARAMS, Refusal } from "../protocol/jsonrpc/errors.js";
import type { CallOrigin, ServerRuntime } from "./server-era.js";
import type { ServerLimits } from "./server-limits.js";

/** Returns the owner for which a subscription is counted: the principal, or the connection if there is none. */
export function ownerOf({ principal }: CallOrigin, connection: unknown): unknown {
  return principal ?? connection;
}

/** Throws if the owner may not open `count` further subscriptions, or if a URI is too long. */
export function assertMayOpen(runtime: ServerRuntime, owner: unknown, count: number, uris: readonly string[]): void {
  const { limits, subscriptions } = runtime;
  const own = subscriptions.byOwner.get(owner) ?? 0;
  const { maxSubscriptions: most, maxSubscriptionsPerPrincipal: share } = limits;
  if (subscriptions.open + count > most)
    throw runtime.busy(503, "maxSubscriptions", `Too many subscriptions: this server allows ${most}`);
  if (own + count > share)
    throw runtime.busy(429, "maxSubscriptionsPerPrincipal", `Too many subscriptions: a client may have ${share}`);
  for (const uri of uris) assertWithin(limits, "maxUriChars", uri.length, INVALID_PARAMS, "characters in a URI");
}

/** Throws a refusal that names the limit if the count exceeds it. */
export function assertWithin(
  limits: ServerLimits,
  limit: keyof ServerLimits,
  count: number,
  code: number,
  counted: string,
): void {
  const most = limits[limit];
  if (count > most)
    throw new Refusal(code, `Too many ${counted} (${count}): at most ${most} are allowed (limits.${limit})`);
}

/** Adds `change` to the count of open subscriptions of an owner. It is negative when subscriptions close. */
export function countOpen({ subscriptions }: ServerRuntime, owner: unknown, change: number): void {
  const { byOwner } = subscriptions;
  const left = (byOwner.get(owner) ?? 0) + change;
  subscriptions.open += change;
  if (left > 0) byOwner.set(owner, left);
  else byOwner.delete(owner);
}

/** Counts a subscriber of a resource. Calls `onSubscribe` for the first. */
export function retain(runtime: ServerRuntime, uri: string): void {
  const watching = runtime.watched.get(uri) ?? 0;
  runtime.watched.set(uri, watching + 1);
  if (watching === 0) tell(runtime, "onSubscribe", uri);
}

/** Removes a subscriber of a resource. Calls `onUnsubscribe` for the last. */
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
