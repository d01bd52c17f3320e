/** What few wire checks need, beside the kit of `shape.ts`. */
import type { Check } from "../check.js";
import { isObject } from "../json.js";
import { array, type Checks, notObject, object, oneOf, satisfying, string } from "./kit.js";

type Members = { readonly [member: string]: unknown };

export const present: Check = satisfying("any value", (value) => value !== undefined);
export const number: Check = satisfying("a finite number", Number.isFinite);
export const integer: Check = satisfying("an integer", Number.isSafeInteger);
export const url: Check = satisfying("a URL", (value) => typeof value === "string" && URL.canParse(value));

/** A string that fits a pattern; `expected` names what the pattern stands for. */
export function pattern(expected: string, regexp: RegExp): Check {
  return satisfying(expected, (value) => typeof value === "string" && regexp.test(value));
}

/** A check that is made elsewhere and may not exist yet. */
export function lazy(make: () => Check): Check {
  let check: Check | undefined;
  return (value) => {
    check ??= make();
    return check(value);
  };
}

/** Both checks, in turn. */
export function both(first: Check, second: Check): Check {
  return (value) => first(value) ?? second(value);
}

/** Picks the check by looking at the object, so that alternatives are not tried in vain. */
export function choose(pick: (value: Members) => Check): Check {
  return (value) => (isObject(value) ? pick(value)(value) : notObject);
}

/**
 * An object of the kind that its member `tag` names. An unknown kind is a problem, unless `open`: then it passes with
 * any members, as long as its tag is a string.
 */
export function tagged(tag: string, kinds: Checks, options: { readonly open?: boolean } = {}): Check {
  const table = new Map(Object.entries(kinds));
  const unknownKind = object({ [tag]: options.open === true ? string : oneOf(...table.keys()) });
  return choose((value) => table.get(value[tag] as string) ?? unknownKind);
}

/** One value, or a list of such values. */
export function oneOrMany(check: Check): Check {
  const many = array(check);
  return (value) => (Array.isArray(value) ? many(value) : check(value));
}
