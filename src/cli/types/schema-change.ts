import { isObject, isTextList } from "../../protocol/json.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import { lookUp } from "../schema-pointer.js";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Effect of a change on the values that a schema accepts: fewer, more, or some fewer and others more. `same` is a change of
 * what no value depends on; `text` is one of what people and models read.
 */
export type Effect = "narrower" | "wider" | "other" | "same" | "text";

/** Difference between two schemas, at a member such as `ship.name` or `lines[]`. */
export interface SchemaChange {
  readonly path: string;
  readonly effect: Effect;
  /** What changed, after the name of the member: `is required now`. */
  readonly what: string;
}

const TEXTS = ["title", "description", "examples", "default", "deprecated"];
/** Keywords that other comparisons cover, or that no value depends on. */
const COVERED: ReadonlySet<string> = new Set([
  ...TEXTS,
  ...["$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "$ref", "readOnly", "writeOnly"],
  ...["type", "nullable", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems"],
  ...["additionalItems", "anyOf", "oneOf", "allOf"],
]);
/** Other keywords that restrict values. Their presence is compared, and not what they say. */
const RESTRICTING: ReadonlySet<string> = new Set([
  ...[
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "contains",
    "propertyNames",
  ],
  ...[
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "pattern",
    "format",
    "multipleOf",
    "uniqueItems",
  ],
  ...["contentEncoding", "contentMediaType", "contentSchema", "unresolved"],
]);
/** Bounds that accept fewer values if they rise, and those that do if they fall. */
const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];

/** Depth below which schemas are compared as a whole. */
const MOST_DEPTH = 64;

/** Changes of one schema after which no more are looked for. */
const MOST_CHANGES = 1000;

/** Compares two schemas, and what they refer to. */
export function schemaChanges(before: unknown, after: unknown): SchemaChange[] {
  return new Comparison(before, after).run();
}

class Comparison {
  readonly #before: unknown;
  readonly #after: unknown;
  /** Pairs that are being compared, which a recursive schema meets again, and pairs without a difference. */
  readonly #open = new Set<string>();
  readonly #same = new Set<string>();
  readonly #found: SchemaChange[] = [];

  constructor(before: unknown, after: unknown) {
    this.#before = before;
    this.#after = after;
  }

  run(): SchemaChange[] {
    this.#compare(this.#before, this.#after, "", 0);
    return this.#found;
  }

  #add(path: string, effect: Effect, what: string): void {
    this.#found.push({ path, effect, what });
  }

  #compare(one: unknown, two: unknown, path: string, depth: number): void {
    const [old, now] = [resolved(one, this.#before), resolved(two, this.#after)];
    const [oldText, nowText] = [sortedJson(old), sortedJson(now)];
    // Equal texts may still refer to definitions that differ.
    const pair = `${oldText}\n${nowText}`;
    if (this.#open.has(pair) || this.#same.has(pair) || this.#found.length >= MOST_CHANGES) return;
    this.#open.add(pair);
    const before = this.#found.length;
    this.#comparePair(old, now, oldText === nowText, path, depth);
    this.#open.delete(pair);
    if (this.#found.length === before) this.#same.add(pair);
  }

  #comparePair(old: unknown, now: unknown, isEqual: boolean, path: string, depth: number): void {
    if (depth > MOST_DEPTH) {
      if (!isEqual) this.#add(path, "other", "changed");
      return;
    }
    if (!isObject(old) || !isObject(now)) return this.#compareTrivial(old, now, path);
    this.#compareTexts(old, now, path);
    this.#compareTypes(old, now, path);
    this.#compareValues(old, now, path);
    this.#compareObjects(old, now, path, depth + 1);
    this.#compareArrays(old, now, path, depth + 1);
    for (const key of ["anyOf", "oneOf"])
      this.#compareBranches(old[key], now[key], path, ["wider", "narrower"], depth + 1);
    this.#compareBranches(old.allOf, now.allOf, path, ["narrower", "wider"], depth + 1);
    this.#compareRest(old, now, path);
  }

  /** Compares schemas of which one accepts everything, or nothing. */
  #compareTrivial(old: unknown, now: unknown, path: string): void {
    if (old === now) return;
    if (acceptsAll(now) || old === false) this.#add(path, acceptsAll(old) ? "same" : "wider", "accepts more");
    else this.#add(path, "narrower", "accepts less");
  }

  #compareTexts(old: Schema, now: Schema, path: string): void {
    for (const key of TEXTS)
      if (sortedJson(old[key] ?? null) !== sortedJson(now[key] ?? null)) this.#add(path, "text", `${key} changed`);
  }

  #compareTypes(old: Schema, now: Schema, path: string): void {
    const [before, after] = [typesOf(old), typesOf(now)];
    if (sortedJson(before) === sortedJson(after)) return;
    const isIn = (type: string, types: readonly string[]) =>
      types.length === 0 || types.includes(type) || (type === "integer" && types.includes("number"));
    const lost = before.length === 0 ? after.length > 0 : before.some((type) => !isIn(type, after));
    const won = after.length === 0 ? before.length > 0 : after.some((type) => !isIn(type, before));
    if (!lost && !won) return;
    const told = (types: readonly string[]) => (types.length === 0 ? "anything" : types.join(" or "));
    this.#add(path, effectOf(lost, won), `was ${told(before)} and is ${told(after)}`);
  }

  /** Compares the values that `enum` and `const` allow. */
  #compareValues(old: Schema, now: Schema, path: string): void {
    const [before, after] = [valuesOf(old), valuesOf(now)];
    if (before === undefined && after === undefined) return;
    if (before === undefined) return this.#add(path, "narrower", `allows only ${[...after!].join(", ")}`);
    if (after === undefined) return this.#add(path, "wider", "allows more values");
    const lost = [...before].filter((value) => !after.has(value));
    const won = [...after].filter((value) => !before.has(value));
    if (lost.length > 0) this.#add(path, "narrower", `does not allow ${lost.join(", ")} any more`);
    if (won.length > 0) this.#add(path, "wider", `also allows ${won.join(", ")}`);
  }

  #compareObjects(old: Schema, now: Schema, path: string, depth: number): void {
    const [before, after] = [membersOf(old), membersOf(now)];
    const [needed, needs] = [requiredOf(old), requiredOf(now)];
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const place = path === "" ? name : `${path}.${name}`;
      const [was, is] = [Object.hasOwn(before, name), Object.hasOwn(after, name)];
      if (was && is) this.#compare(before[name], after[name], place, depth);
      else if (was) this.#add(place, "other", "is gone");
      else if (!needs.has(name)) this.#add(place, "same", "is new, and optional");
    }
    for (const name of needs) {
      const isNew = !Object.hasOwn(before, name);
      if (!needed.has(name))
        this.#add(
          path === "" ? name : `${path}.${name}`,
          "narrower",
          isNew ? "is new, and required" : "is required now",
        );
    }
    for (const name of needed)
      if (!needs.has(name) && Object.hasOwn(after, name))
        this.#add(path === "" ? name : `${path}.${name}`, "wider", "is not required any more");
    this.#compareOpen(old.additionalProperties, now.additionalProperties, `${path}[*]`, depth);
  }

  #compareArrays(old: Schema, now: Schema, path: string, depth: number): void {
    const [before, after] = [tupleOf(old), tupleOf(now)];
    for (let index = 0; index < Math.max(before.first.length, after.first.length); index++)
      this.#compareOpen(
        before.first[index] ?? before.rest,
        after.first[index] ?? after.rest,
        `${path}[${index}]`,
        depth,
      );
    this.#compareOpen(before.rest, after.rest, `${path}[]`, depth);
  }

  /** Compares schemas that accept everything if they are missing. */
  #compareOpen(old: unknown, now: unknown, path: string, depth: number): void {
    if (old !== undefined || now !== undefined) this.#compare(old ?? true, now ?? true, path, depth);
  }

  /** Compares lists of schemas. Equal branches are the same one wherever they are; the others are compared in their order. */
  #compareBranches(
    old: unknown,
    now: unknown,
    path: string,
    [more, fewer]: readonly [Effect, Effect],
    depth: number,
  ): void {
    if (!Array.isArray(old) && !Array.isArray(now)) return;
    if (!Array.isArray(old) || !Array.isArray(now)) {
      this.#add(
        path,
        Array.isArray(now) ? "narrower" : "wider",
        Array.isArray(now) ? "has new conditions" : "has fewer conditions",
      );
      return;
    }
    const written = (branches: readonly unknown[], root: unknown) =>
      branches.map((one) => sortedJson(resolved(one, root)));
    const [before, after] = [written(old, this.#before), written(now, this.#after)];
    const [lost, won] = [
      old.filter((_, index) => !after.includes(before[index]!)),
      now.filter((_, index) => !before.includes(after[index]!)),
    ];
    for (const branch of old.filter((one) => !lost.includes(one)))
      this.#compare(branch, now[after.indexOf(sortedJson(resolved(branch, this.#before)))], path, depth);
    if (lost.length === won.length) {
      for (const [index, one] of lost.entries()) this.#compare(one, won[index], path, depth);
      return;
    }
    if (lost.length > 0) this.#add(path, fewer, "has fewer alternatives or conditions");
    if (won.length > 0) this.#add(path, more, "has more alternatives or conditions");
  }

  /** Compares bounds, and keywords of which only the presence is understood. */
  #compareRest(old: Schema, now: Schema, path: string): void {
    for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const [before, after] = [old[key], now[key]];
      if (COVERED.has(key) || sortedJson(before ?? null) === sortedJson(after ?? null)) continue;
      const what = `${key} was ${shown(before)} and is ${shown(after)}`;
      if (!RESTRICTING.has(key) && !LOWER.includes(key) && !UPPER.includes(key)) this.#add(path, "same", what);
      else if (before === undefined) this.#add(path, "narrower", `has ${key} ${shown(after)} now`);
      else if (after === undefined) this.#add(path, "wider", `has no ${key} any more`);
      else if (typeof before === "number" && typeof after === "number" && LOWER.includes(key))
        this.#add(path, after > before ? "narrower" : "wider", what);
      else if (typeof before === "number" && typeof after === "number" && UPPER.includes(key))
        this.#add(path, after < before ? "narrower" : "wider", what);
      else if (typeof after === "boolean") this.#add(path, after ? "narrower" : "wider", what);
      else this.#add(path, "other", what);
    }
  }
}

/** Follows references. What stands beside a reference stays, but for definitions, so that recursion meets equal schemas. */
function resolved(schema: unknown, root: unknown): unknown {
  let found = schema;
  for (let step = 0; step < 20 && isObject(found) && typeof found.$ref === "string"; step++) {
    const { $ref, $defs: _, definitions: __, ...rest } = found;
    const target = lookUp($ref, root);
    if (target === undefined) return { ...rest, unresolved: $ref };
    found = isObject(target) ? { ...target, ...rest } : target;
  }
  return found;
}

function acceptsAll(schema: unknown): boolean {
  return schema === true || (isObject(schema) && Object.keys(schema).length === 0);
}

function effectOf(lost: boolean, won: boolean): Effect {
  return lost && won ? "other" : lost ? "narrower" : "wider";
}

/** Returns the types that a schema allows, sorted. An empty list stands for all. */
function typesOf({ type, nullable }: Schema): readonly string[] {
  const named = typeof type === "string" ? [type] : isTextList(type) ? type : [];
  if (named.length === 0) return [];
  return [...new Set(nullable === true ? [...named, "null"] : named)].sort();
}

function valuesOf({ const: only, enum: choices }: Schema): ReadonlySet<string> | undefined {
  if (only !== undefined) return new Set([sortedJson(only)]);
  return Array.isArray(choices) ? new Set(choices.map(sortedJson)) : undefined;
}

function membersOf({ properties }: Schema): Schema {
  return isObject(properties) ? properties : {};
}

function requiredOf({ required }: Schema): ReadonlySet<string> {
  return new Set(isTextList(required) ? required : []);
}

/** Returns the schemas of the first elements, and that of the others. */
function tupleOf({ prefixItems, items, additionalItems }: Schema): {
  readonly first: readonly unknown[];
  readonly rest: unknown;
} {
  if (Array.isArray(prefixItems)) return { first: prefixItems, rest: items };
  return Array.isArray(items) ? { first: items, rest: additionalItems } : { first: [], rest: items };
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : sortedJson(value);
}
