import { atCaller, type Called } from "./at-caller.js";
import { DefinitionError } from "./errors.js";
import { defined } from "./json.js";

type AnyFunction = (...given: never) => unknown;

/** Name of the type of a value. `map` is an object with free names, such as headers. */
type TypeName<V> = V extends string
  ? "string"
  : V extends number
    ? "number"
    : V extends boolean
      ? "boolean"
      : V extends null
        ? "null"
        : V extends AnyFunction
          ? "function"
          : V extends readonly unknown[]
            ? "array"
            : string extends keyof V
              ? "map"
              : "object";

/** Members of a union that have this type. */
type OfType<V, Name> = V extends unknown ? (TypeName<V> extends Name ? V : never) : never;

/** True if an object has methods, such as a clock. Other objects consist of options. */
type HasMethods<V> = true extends {
  [K in keyof V]-?: Record<never, never> extends Pick<V, K> ? false : V[K] extends AnyFunction ? true : false;
}[keyof V]
  ? true
  : false;

/** Kinds of numbers. */
type NumberKind = "ms" | "period" | "count" | "positive" | "limit" | "positive limit";

type WhatIs<V, Name> = Name extends "string" | "boolean"
  ? "any" | readonly V[]
  : Name extends "number"
    ? NumberKind
    : Name extends "array"
      ? V extends readonly (infer Element)[]
        ? Kind<Element>
        : never
      : Name extends "map"
        ? Kind<Exclude<V[keyof V], undefined>>
        : Name extends "object"
          ? "any" | Known<V>
          : "any";

/** What a value may be, by its type. */
type Forms<V> = { readonly [Name in TypeName<V>]: WhatIs<OfType<V, Name>, Name> };

type IsUnion<Name, All = Name> = Name extends unknown ? ([All] extends [Name] ? false : true) : never;

type Simple<V> =
  TypeName<V> extends "number"
    ? NumberKind | number
    : TypeName<V> extends "map"
      ? "object"
      : TypeName<V> extends "object"
        ? Known<V> | (HasMethods<V> extends true ? "object" : never)
        : TypeName<V>;

/**
 * What an option may be:
 *
 * - `"any"`: the code that uses the value checks it.
 * - `"string"` and other names of types: a value of this type. `"object"` is for objects that are used as they are.
 * - `"ms"`: a time of 0 or more, or Infinity for no end. `"period"`: a time above 0 that ends.
 * - `"count"`: a whole number of 0 or more. `"positive"`: one of 1 or more. `"limit"` and `"positive limit"` are the same,
 *   or Infinity.
 * - A number: a limit with this default. It is a whole number, unless it is a time or its default is a fraction.
 * - An object: options of their own.
 * - A list with the forms of a value by type: what the elements of an `array` are, what the members of an object with
 *   options (`object`) or with free names (`map`) are, and the words that a `string` may be. `"required"` means that
 *   the option must be given, `"some"` that a list must not be empty either.
 */
type Kind<V> =
  | "any"
  | readonly [forms: Forms<V>, required?: "required" | "some"]
  | (true extends IsUnion<TypeName<V>> ? never : Simple<V>);

/**
 * Description of options. It has exactly the members of their type, so that neither changes without the other. Options
 * that are objects are described too, unless they have methods.
 */
export type Known<T> = { readonly [K in keyof Required<T>]: Kind<Exclude<T[K], undefined>> };

/** Options of which each may be missing or undefined. */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** Options with the defaults of those that are not given. */
export type Resolved<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> };

/** Description at run time. */
type AnyKind = "any" | string | number | AnyForms | Description;
type AnyForms = readonly [forms: { readonly [type: string]: AnyKind | readonly unknown[] }, required?: string];
interface Description {
  readonly [option: string]: AnyKind;
}

type NumberRule = readonly [rule: string, fits: (value: number) => boolean];

const isLimit = (value: number) => Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY;

/** Kinds of numbers, with what such a number must be. */
const NUMBERS: { readonly [kind: string]: NumberRule } = {
  ms: ["a number of 0 or more, or Infinity for no limit", (value) => value >= 0],
  period: ["a number above 0", (value) => value > 0 && value < Number.POSITIVE_INFINITY],
  count: ["a whole number of 0 or more", (value) => Number.isSafeInteger(value) && value >= 0],
  positive: ["a whole number of 1 or more", (value) => Number.isSafeInteger(value) && value >= 1],
  limit: ["a whole number of 0 or more, or Infinity for no limit", (value) => isLimit(value) && value >= 0],
  "positive limit": ["a whole number of 1 or more, or Infinity for no limit", (value) => isLimit(value) && value >= 1],
} satisfies { readonly [kind in NumberKind]: NumberRule };

/** Options that are checked, for the hints of errors. */
interface Checked {
  readonly owner: string;
  readonly known: Description;
  readonly otherNames: { readonly [name: string]: string };
}

/**
 * Throws if the options are not an object, or if one of them, at any depth, is unknown, missing or of the wrong type. The
 * message names the owner and the path of the option, and suggests the option that was probably meant. `otherNames` maps
 * earlier names, and names of other SDKs, to the options here. Without this check, a program without types would have
 * its option ignored, or fail far from the mistake. If the owner is the function that is called, the error begins at its
 * caller.
 */
export function assertOptions(
  owner: string | Called,
  given: unknown,
  known: object,
  otherNames: { readonly [name: string]: string } = {},
): void {
  if (typeof owner !== "string") {
    const [[name, called]] = Object.entries(owner) as [[string, object]];
    return atCaller(called, () => assertOptions(name, given, known, otherNames));
  }
  if (typeOf(given) !== "object") throw new DefinitionError(`${owner}: the options must be an object`);
  const checked = { owner, known: known as Description, otherNames };
  assertMembers(checked, "", given as object, checked.known);
}

/**
 * Same as {@link assertOptions} for an object at `path` that may come from elsewhere, such as from another server. Members
 * with other names are allowed, unless they look like a misspelt one, or are another name of one, that is not given.
 */
export function assertOpen(
  owner: string,
  path: string,
  given: object,
  known: object,
  otherNames: { readonly [name: string]: string } = {},
): void {
  const members: { [name: string]: unknown } = {};
  for (const name in known) members[name] = (given as Description)[name];
  const isMissing = (name: string) => members[name] === undefined;
  for (const name in given) {
    const value = (given as Description)[name];
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const other = otherNames[name];
    const isMeant = (each: string) => isMissing(each) && likeness(name, each) >= MISSPELT;
    if (other === undefined ? Object.keys(known).some(isMeant) : isMissing(other)) members[name] = value;
  }
  assertOptions(owner, { [path]: members }, { [path]: known }, otherNames);
}

/**
 * Same as `assertOptions` for the options of a call. Allocates nothing for valid options whose kind is a word, since each
 * call is checked.
 */
export function assertAtCall(
  owner: string | Called,
  given: object,
  known: object,
  otherNames?: { readonly [name: string]: string },
): void {
  for (const name in given) {
    const kind = (known as Description)[name];
    if (kind === "any") continue;
    const value: unknown = (given as Description)[name];
    const isFit =
      typeof value === "number" ? NUMBERS[kind as string]?.[1](value) : kind === typeof value && value !== null;
    if (isFit !== true) assertOptions(owner, given, known, otherNames);
  }
}

/**
 * Same as {@link assertOptions} for what a guard of the author returns at `path`. It must be a plain object, since an
 * instance of a class may have any members, and an error has none.
 */
export function assertReturned(
  owner: string,
  path: string,
  given: unknown,
  known: object,
  otherNames: { readonly [name: string]: string },
): void {
  const type = typeOf(given);
  const isObject = type === "object";
  if (!isObject || !isPlain(given as object))
    throw new DefinitionError(
      `${owner}: ${path} must be a plain object, got ${isObject ? tagOf(given as object) : type}`,
    );
  assertOptions(owner, { [path]: given }, { [path]: known }, otherNames);
}

/** Returns checked limits with the defaults of those that are not given. */
export function withDefaults<Limits extends object>(given: Optional<Limits> = {}, defaults: Limits): Limits {
  return { ...defaults, ...defined(given as Limits) };
}

function assertMembers(checked: Checked, path: string, given: object, known: Description): void {
  const place = path && `${path}.`;
  if (Symbol.iterator in given)
    throw new DefinitionError(`${checked.owner}: ${path || "the options"} must be an object, got a ${tagOf(given)}`);
  if (isPlain(given))
    for (const name of Object.keys(given)) if (!Object.hasOwn(known, name)) throw unknown(checked, path, name, known);
  // Options that are inherited, or that a class computes, are read like others.
  for (const name in known) {
    const value = (given as Description)[name];
    if (value !== undefined) assertKind(checked, place + name, value, known[name] as AnyKind);
  }
  for (const name in known) {
    const kind = known[name];
    if (Array.isArray(kind) && kind[1] !== undefined && (given as Description)[name] === undefined)
      throw new DefinitionError(`${checked.owner}: ${place}${name} is missing`);
  }
}

function assertKind(checked: Checked, path: string, value: unknown, kind: AnyKind): void {
  const type = typeOf(value);
  if (kind === "any" || kind === type) return;
  const must = (rule: string) => new DefinitionError(`${checked.owner}: ${path} must ${rule}`);
  if (typeof kind === "number") {
    const isCount = kind % 1 === 0 && !path.endsWith("Ms");
    const [rule, fits] = NUMBERS[isCount ? "limit" : "ms"] as NumberRule;
    if (typeof value === "number" && fits(value)) return;
    throw must(`be ${rule}, got ${String(value)}`);
  }
  const [forms, required] = formsOf(kind);
  const form = forms[type === "NaN" ? "number" : type] ?? (type === "object" ? forms.map : undefined);
  if (form === undefined)
    throw must(`be of type ${Object.keys(forms).join(" or ").replace("map", "object")}, got ${type}`);
  if (form === "any") return;
  if (typeof value === "number") {
    const [rule, fits] = NUMBERS[form as string] as NumberRule;
    if (!fits(value)) throw must(`be ${rule}, got ${value}`);
  } else if (type === "array") {
    if (required === "some" && (value as unknown[]).length === 0) throw must("not be empty");
    for (const [index, each] of (value as unknown[]).entries())
      assertKind(checked, `${path}[${index}]`, each, form as AnyKind);
  } else if (type !== "object") {
    const words = form as unknown[];
    if (!words.includes(value))
      throw must(`be ${words.map(quoted).join(" or ")}, got ${quoted(value)}${similarTo(value, words)}`);
  } else if (forms.object !== undefined) assertMembers(checked, path, value as object, form as Description);
  else
    for (const [name, each] of Object.entries(value as object))
      if (each !== undefined) assertKind(checked, `${path}.${name}`, each, form as AnyKind);
}

function formsOf(kind: string | AnyForms | Description): AnyForms {
  if (Array.isArray(kind)) return kind as unknown as AnyForms;
  if (typeof kind !== "string") return [{ object: kind as Description }];
  return [kind in NUMBERS ? { number: kind } : { [kind]: "any" }];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : Number.isNaN(value) ? "NaN" : typeof value;
}

/** Returns the name of the kind of an object, such as Map. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** False for an instance of a class, which may have members of its own. */
function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function unknown(checked: Checked, path: string, name: string, known: Description): DefinitionError {
  const hint = hintFor(checked, path, name, known);
  return new DefinitionError(`${checked.owner}: ${path && `${path}: `}unknown option ${name}${hint}`);
}

/** Suggests the option that was probably meant: another name for it, a similar one, or the same name at another depth. */
function hintFor({ owner, known: all, otherNames }: Checked, path: string, name: string, known: Description): string {
  if (Object.hasOwn(otherNames, name)) return `; use ${otherNames[name]}`;
  let [best, score] = [pathOf(name, all), ELSEWHERE];
  if (best === undefined) score = DISSIMILAR;
  else if (path !== "") best += ` of ${owner}`;
  for (const other of Object.keys(known))
    if (likeness(name, other) >= score) [best, score] = [other, likeness(name, other)];
  return best === undefined ? "" : `; did you mean ${best}?`;
}

const quoted = (value: unknown) => JSON.stringify(value);

/** Suggests the word that was probably meant. */
function similarTo(value: unknown, words: readonly unknown[]): string {
  const found = words.find((word) => likeness(String(value), String(word)) >= DISSIMILAR);
  return words.length > 2 && found !== undefined ? `; did you mean ${quoted(found)}?` : "";
}

/** Similarity below which a name is not suggested. */
const DISSIMILAR = 0.5;
/** Similarity from which a free name counts as misspelt. */
const MISSPELT = 0.65;
/** Similarity that the same name at another depth counts as. */
const ELSEWHERE = 0.8;

/** Returns the path of an option of this name at any depth. */
function pathOf(name: string, known: Description): string | undefined {
  if (Object.hasOwn(known, name)) return name;
  for (const [outer, kind] of Object.entries(known)) {
    const inner = Array.isArray(kind) ? (kind[0].object ?? kind[0].array) : kind;
    if (typeof inner !== "object" || Array.isArray(inner)) continue;
    const found = pathOf(name, inner);
    if (found !== undefined) return `${outer}.${found}`;
  }
  return undefined;
}

/** Similarity of two names from 0 to 1: the share of their common beginning and end, regardless of case. */
function likeness(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  let [head, tail] = [0, 0];
  while (head < a.length && a[head] === b[head]) head++;
  while (tail < a.length - head && a.at(~tail) === b.at(~tail)) tail++;
  return (head + tail) / Math.max(a.length, b.length);
}
