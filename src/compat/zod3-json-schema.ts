import {
  type Direction,
  defaultOf,
  enumeration,
  type Json,
  literals,
  MAX_DEPTH,
  Places,
  placeIn,
  valuesOfEnum,
  withPatterns,
} from "./zod-conversion.js";

/** Schema of zod 3, with its description of itself. */
export interface Zod3Schema {
  readonly _def: Definition;
}

/** Description of a schema. Each kind of schema has some of the members. */
interface Definition {
  readonly typeName: string;
  readonly description?: string | undefined;
  readonly checks?: readonly Check[] | undefined;
  readonly innerType?: Zod3Schema | undefined;
  readonly schema?: Zod3Schema | undefined;
  readonly effect?: { readonly type: "refinement" | "transform" | "preprocess" };
  readonly type?: Zod3Schema | undefined;
  readonly in?: Zod3Schema;
  readonly out?: Zod3Schema;
  readonly left?: Zod3Schema;
  readonly right?: Zod3Schema;
  readonly keyType?: Zod3Schema;
  readonly valueType?: Zod3Schema;
  readonly catchall?: Zod3Schema;
  readonly rest?: Zod3Schema | null;
  readonly items?: readonly Zod3Schema[];
  readonly options?: readonly Zod3Schema[] | ReadonlyMap<unknown, Zod3Schema>;
  readonly getter?: () => Zod3Schema;
  readonly shape?: () => Readonly<Record<string, Zod3Schema>>;
  readonly unknownKeys?: "strip" | "strict" | "passthrough";
  readonly value?: unknown;
  readonly values?: readonly unknown[] | Readonly<Record<string, string | number>>;
  readonly defaultValue?: () => unknown;
  readonly minLength?: Bound | null;
  readonly maxLength?: Bound | null;
  readonly exactLength?: Bound | null;
  readonly minSize?: Bound | null;
  readonly maxSize?: Bound | null;
}

interface Bound {
  readonly value: number;
}

/** Rule of a text or number, such as `{ kind: "min", value: 1, inclusive: true }`. */
interface Check {
  readonly kind: string;
  readonly value?: unknown;
  readonly inclusive?: boolean;
  readonly regex?: RegExp;
  readonly version?: "v4" | "v6";
}

/**
 * Converts a schema of zod 3 to JSON Schema (draft 2020-12). What JSON Schema cannot express is left out: the schema
 * itself validates the values.
 */
export function zod3ToJsonSchema(schema: Zod3Schema, direction: Direction): Json {
  return new Conversion(direction).convert(schema, "#");
}

/** True if a member of an object may be absent. Runs no code of the schema. */
export function acceptsAbsence({ _def }: Zod3Schema, direction: Direction, depth = 0): boolean {
  const again = (part: Zod3Schema | undefined) =>
    part !== undefined && depth < MAX_DEPTH && acceptsAbsence(part, direction, depth + 1);
  switch (_def.typeName) {
    case "ZodOptional":
    case "ZodUndefined":
    case "ZodVoid":
    case "ZodAny":
    case "ZodUnknown":
      return true;
    case "ZodDefault":
    case "ZodCatch":
      return direction === "input" || again(_def.innerType);
    case "ZodEffects":
      return _def.effect?.type === (direction === "input" ? "preprocess" : "transform") || again(_def.schema);
    case "ZodUnion":
    case "ZodDiscriminatedUnion":
      return optionsOf(_def).some(again);
    case "ZodIntersection":
      return again(_def.left) && again(_def.right);
    case "ZodLiteral":
      return _def.value === undefined;
    default:
      return again(insideOf(_def, direction));
  }
}

/** Returns the schema within a wrapper that adds nothing to JSON Schema. */
function insideOf(def: Definition, direction: Direction): Zod3Schema | undefined {
  switch (def.typeName) {
    case "ZodOptional":
    case "ZodNullable":
    case "ZodDefault":
    case "ZodCatch":
    case "ZodReadonly":
      return def.innerType;
    case "ZodBranded":
    case "ZodPromise":
      return def.type;
    case "ZodPipeline":
      return direction === "input" ? def.in : def.out;
    case "ZodLazy":
      return def.getter?.();
    case "ZodEffects":
      return direction === "output" && def.effect?.type === "transform" ? undefined : def.schema;
    default:
      return undefined;
  }
}

const optionsOf = ({ options }: Definition): Zod3Schema[] => [...(options?.values() ?? [])];

class Conversion {
  readonly #direction: Direction;
  readonly #places = new Places();

  constructor(direction: Direction) {
    this.#direction = direction;
  }

  convert({ _def }: Zod3Schema, place: string): Json {
    return this.#places.within(_def, place, () => {
      const described = this.#describe(_def, place);
      return _def.description === undefined ? described : { ...described, description: _def.description };
    });
  }

  #describe(def: Definition, place: string): Json {
    const at = (part: Zod3Schema, ...steps: readonly (string | number)[]) => this.convert(part, placeIn(place, steps));
    const all = (parts: readonly Zod3Schema[], keyword: string) => parts.map((part, index) => at(part, keyword, index));
    switch (def.typeName) {
      case "ZodString":
        return describeText(def.checks ?? []);
      case "ZodNumber":
        return describeNumber(def.checks ?? []);
      case "ZodBigInt":
        return { type: "integer" };
      case "ZodBoolean":
        return { type: "boolean" };
      case "ZodDate":
        return { type: "string", format: "date-time" };
      case "ZodNull":
        return { type: "null" };
      case "ZodNever":
        return { not: {} };
      case "ZodLiteral":
        return literals([def.value]);
      case "ZodEnum":
        return enumeration(def.values as readonly string[]);
      case "ZodNativeEnum":
        return enumeration(valuesOfEnum(def.values as Readonly<Record<string, string | number>>));
      case "ZodObject":
        return this.#describeObject(def, at);
      case "ZodRecord":
        return {
          type: "object",
          ...keysOf(def.keyType),
          additionalProperties: at(def.valueType as Zod3Schema, "additionalProperties"),
        };
      case "ZodArray":
        return {
          type: "array",
          items: at(def.type as Zod3Schema, "items"),
          ...bounds("Items", def.exactLength ?? def.minLength, def.exactLength ?? def.maxLength),
        };
      case "ZodSet":
        return {
          type: "array",
          uniqueItems: true,
          items: at(def.valueType as Zod3Schema, "items"),
          ...bounds("Items", def.minSize, def.maxSize),
        };
      case "ZodTuple": {
        const { items = [], rest } = def;
        return {
          type: "array",
          prefixItems: all(items, "prefixItems"),
          minItems: items.length,
          ...(rest ? { items: at(rest, "items") } : { maxItems: items.length }),
        };
      }
      case "ZodUnion":
      case "ZodDiscriminatedUnion":
        return { anyOf: all(optionsOf(def), "anyOf") };
      case "ZodIntersection":
        return { allOf: all([def.left, def.right] as readonly Zod3Schema[], "allOf") };
      case "ZodNullable":
        return { anyOf: [...all([def.innerType as Zod3Schema], "anyOf"), { type: "null" }] };
      case "ZodDefault":
        return { ...at(def.innerType as Zod3Schema), ...defaultOf(def.defaultValue?.()) };
      default: {
        const inside = insideOf(def, this.#direction);
        return inside === undefined ? {} : at(inside);
      }
    }
  }

  #describeObject(
    { shape, unknownKeys, catchall }: Definition,
    at: (part: Zod3Schema, ...steps: string[]) => Json,
  ): Json {
    const members = Object.entries(shape?.() ?? {});
    const required = members.filter(([, part]) => !acceptsAbsence(part, this.#direction)).map(([name]) => name);
    const isOpen = catchall === undefined || catchall._def.typeName === "ZodNever";
    return {
      type: "object",
      properties: Object.fromEntries(members.map(([name, part]) => [name, at(part, "properties", name)])),
      ...(required.length > 0 && { required }),
      ...(isOpen && unknownKeys === "strict" && { additionalProperties: false }),
      ...(!isOpen && { additionalProperties: at(catchall, "additionalProperties") }),
    };
  }
}

/** Formats by the kinds of checks of a text. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "email",
  url: "uri",
  uuid: "uuid",
  datetime: "date-time",
  date: "date",
  time: "time",
  duration: "duration",
};

function describeText(checks: readonly Check[]): Json {
  const text: Json = { type: "string" };
  const patterns: RegExp[] = [];
  for (const { kind, value, regex, version } of checks) {
    if (kind === "min" || kind === "length") text.minLength = Math.max(value as number, Number(text.minLength ?? 0));
    if (kind === "max" || kind === "length")
      text.maxLength = Math.min(value as number, Number(text.maxLength ?? Number.POSITIVE_INFINITY));
    if (kind in FORMATS) text.format ??= FORMATS[kind];
    if (kind === "ip" && version !== undefined) text.format ??= `ip${version}`;
    if (kind === "base64") text.contentEncoding = "base64";
    if (kind === "regex") patterns.push(regex as RegExp);
    if (kind === "startsWith") patterns.push(new RegExp(`^${escapePattern(value as string)}`));
    if (kind === "endsWith") patterns.push(new RegExp(`${escapePattern(value as string)}$`));
    if (kind === "includes") patterns.push(new RegExp(escapePattern(value as string)));
  }
  return withPatterns(text, patterns);
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

function describeNumber(checks: readonly Check[]): Json {
  const number: Json = { type: "number" };
  for (const { kind, value, inclusive } of checks) {
    if (kind === "int") number.type = "integer";
    if (kind === "min") number[inclusive ? "minimum" : "exclusiveMinimum"] = value;
    if (kind === "max") number[inclusive ? "maximum" : "exclusiveMaximum"] = value;
    if (kind === "multipleOf") number.multipleOf = value;
  }
  return number;
}

/** Describes the keys of a record. */
function keysOf(key: Zod3Schema | undefined): Json {
  const { typeName, checks = [], values } = key?._def ?? { typeName: "" };
  if (typeName === "ZodEnum") return { propertyNames: { enum: values } };
  return typeName === "ZodString" && checks.length > 0 ? { propertyNames: describeText(checks) } : {};
}

function bounds(what: string, min: Bound | null | undefined, max: Bound | null | undefined): Json {
  return { ...(min && { [`min${what}`]: min.value }), ...(max && { [`max${what}`]: max.value }) };
}
