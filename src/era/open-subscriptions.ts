import { attempt, type MaybePromise } from "../call/maybe-promise.js";
import { INVALID_PARAMS, Refusal } from "../protocol/jsonrpc/errors.js";
import { addressOf, anonymousPart } from "./caller.js";
import type { Call, CallOrigin, ServerRuntime } from "./server-era.js";
import type { ServerLimits } from "./server-limits.js";

/** Caller for which subscriptions are counted. */
export interface SubscriptionOwner {
  readonly key: unknown;
  /** True if the caller has no principal. */
  readonly anonymous: boolean;
  /** True if nothing but its connection tells the caller from others. A stranger can open many of them. */
  readonly isUnknown: boolean;
}

/** Parts of what callers without a principal may have. An unknown one may have one part, but at least a few. */
const PARTS = 100;
const FEW = 10;

/**
 * Returns the caller for which a subscription is counted: the principal, or the address of a caller without one, or else
 * the connection. `isOpenToAll` is true if anybody can open such connections.
 */
export function ownerOf(
  runtime: Pick<ServerRuntime, "options">,
  origin: CallOrigin,
  connection: unknown,
  isOpenToAll: boolean,
): SubscriptionOwner {
  const { principal } = origin;
  if (principal !== undefined) return { key: `principal ${principal}`, anonymous: false, isUnknown: false };
  const address = addressOf(runtime, origin);
  const isUnknown = address === undefined && isOpenToAll;
  return { key: address === undefined ? connection : `address ${address}`, anonymous: true, isUnknown };
}

/** Throws if the owner may not open `count` further subscriptions, or if a URI is too long. */
export function assertMayOpen(
  runtime: ServerRuntime,
  owner: SubscriptionOwner,
  count: number,
  uris: readonly string[],
): void {
  const { limits, subscriptions } = runtime;
  const { maxSubscriptions: most, maxSubscriptionsPerPrincipal } = limits;
  const ofAnonymous = anonymousPart(limits, most);
  if (subscriptions.open + count > most)
    throw runtime.busy(503, "maxSubscriptions", `Too many subscriptions: this server allows ${most}`);
  if (owner.anonymous && subscriptions.anonymous + count > ofAnonymous)
    throw runtime.busy(503, "anonymousShare", `Too many subscriptions: callers without a name may have ${ofAnonymous}`);
  const own = (subscriptions.byOwner.get(owner.key) ?? 0) + count;
  if (own > maxSubscriptionsPerPrincipal)
    throw runtime.busy(
      429,
      "maxSubscriptionsPerPrincipal",
      `Too many subscriptions: a client may have ${maxSubscriptionsPerPrincipal}`,
    );
  const part = Math.max(FEW, Math.floor(ofAnonymous / PARTS));
  if (owner.isUnknown && own > part)
    throw runtime.busy(
      429,
      "anonymousShare",
      `Too many subscriptions: a client of unknown address may have ${part} (http.remoteOf names it)`,
    );
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
export function countOpen(
  { subscriptions }: ServerRuntime,
  { key, anonymous }: SubscriptionOwner,
  change: number,
): void {
  const { byOwner } = subscriptions;
  const left = (byOwner.get(key) ?? 0) + change;
  subscriptions.open += change;
  if (anonymous) subscriptions.anonymous += change;
  if (left > 0) byOwner.set(key, left);
  else byOwner.delete(key);
}

/** Returns those of the URIs whose resources exist for the caller. */
export function existing(runtime: ServerRuntime, call: Call, uris: readonly string[]): MaybePromise<string[]> {
  const found = uris.map((uri) => runtime.hasResource(call, uri));
  const fits = (all: readonly unknown[]) => uris.filter((_, at) => all[at] === true);
  return found.some((one) => one instanceof Promise) ? Promise.all(found).then(fits) : fits(found);
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
  attempt(
    () => runtime.options.resources?.[hook]?.(uri),
    () => {},
    (error) => runtime.report(error, { where: hook }),
  );
}
