import { pointerTo } from "../protocol/json.js";

/** JSON Schema of a part, or a keyword of it. */
export type Json = Record<string, unknown>;

/** `input` describes values before, `output` values after the validation. */
export type Direction = "input" | "output";

/** Deeper parts are not described, as those of a lazy schema that creates new schemas without end. */
export const MAX_DEPTH = 64;

/** Number of parts after which no more are described. A lazy schema may create several new schemas at each depth. */
const MAX_PARTS = 10_000;

/**
 * Places of schemas, to which a schema that contains itself refers. A schema without references is described at each place,
 * since many hosts do not follow them. One with references is described once: schemas that contain each other would
 * otherwise be described in each order in which they can follow.
 */
export class Places {
  readonly #places = new Map<object, string>();
  #depth = 0;
  #parts = 0;
  #references = 0;

  /** Converts the schema with this definition at a place. */
  within(definition: object, place: string, convert: () => Json): Json {
    const known = this.#places.get(definition);
    if (known !== undefined) {
      this.#references++;
      return { $ref: known };
    }
    if (this.#depth > MAX_DEPTH || ++this.#parts > MAX_PARTS) return {};
    const before = this.#references;
    this.#places.set(definition, place);
    this.#depth++;
    const converted = convert();
    this.#depth--;
    if (this.#references === before) this.#places.delete(definition);
    return converted;
  }
}

/** Returns the place of a part, as the fragment of a URI. */
export function placeIn(place: string, steps: readonly (string | number)[]): string {
  return place + steps.map((step) => `/${encodeURIComponent(pointerTo(step).slice(1))}`).join("");
}

/** Returns the values of an enum of TypeScript. One with numbers has its names as values too. */
export function valuesOfEnum(members: Readonly<Record<string, string | number>>): (string | number)[] {
  const names = Object.keys(members).filter((name) => typeof members[members[name] as string] !== "number");
  return names.map((name) => members[name] as string | number);
}

/** Returns the default in the form that JSON gives it, or nothing if JSON cannot express it. */
export function defaultOf(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? {} : { default: JSON.parse(text) };
  } catch {
    return {};
  }
}

/** Describes literals, without those that JSON does not have. */
export function literals(values: readonly unknown[]): Json {
  const known = values.filter((value) => value === null || JSON_TYPES.includes(typeof value));
  return known.length === 1 ? { ...typeOf(known), const: known[0] } : known.length > 1 ? enumeration(known) : {};
}

/** Describes the values of an enum, with the type that all of them have. */
export function enumeration(values: readonly unknown[]): Json {
  return { ...typeOf(values), enum: values };
}

const JSON_TYPES = ["string", "number", "boolean"];

function typeOf(values: readonly unknown[]): Json {
  const [type, ...others] = new Set(values.map((value) => (value === null ? "null" : typeof value)));
  return others.length === 0 ? { type } : {};
}

/** Adds patterns to the description of a text. JSON Schema has no flags, so patterns with flags are left out. */
export function withPatterns(text: Json, given: Iterable<RegExp>): Json {
  const patterns = [...given].filter(({ flags }) => /^u?$/.test(flags)).map(({ source }) => source);
  if (patterns.length > 1) return { ...text, allOf: patterns.map((pattern) => ({ pattern })) };
  return patterns.length === 1 ? { ...text, pattern: patterns[0] } : text;
}
