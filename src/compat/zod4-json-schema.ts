import {
  type Direction,
  defaultOf,
  enumeration,
  type Json,
  literals,
  Places,
  placeIn,
  valuesOfEnum,
  withPatterns,
} from "./zod-conversion.js";

/** Schema of zod 4 or zod/mini, with its description of itself. */
export interface Zod4Schema {
  readonly _zod: {
    readonly def: Definition;
    /** Present if a member of an object may be absent, before and after the validation. */
    readonly optin?: unknown;
    readonly optout?: unknown;
    readonly pattern?: RegExp;
  };
  readonly description?: string | undefined;
}

/** Description of a schema. Each kind of schema has some of the members. */
interface Definition extends Check {
  readonly type: string;
  readonly checks?: readonly { readonly _zod: { readonly def: Check } }[];
  readonly innerType?: Zod4Schema;
  readonly element?: Zod4Schema;
  readonly in?: Zod4Schema;
  readonly out?: Zod4Schema;
  readonly left?: Zod4Schema;
  readonly right?: Zod4Schema;
  readonly keyType?: Zod4Schema;
  readonly valueType?: Zod4Schema;
  readonly catchall?: Zod4Schema;
  readonly rest?: Zod4Schema | null;
  readonly items?: readonly Zod4Schema[];
  readonly options?: readonly Zod4Schema[];
  readonly getter?: () => Zod4Schema;
  readonly shape?: Readonly<Record<string, Zod4Schema>>;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, string | number>>;
  readonly defaultValue?: unknown;
}

/** Rule of a schema, such as `{ check: "min_length", minimum: 1 }`. Some schemas are such a rule, such as `z.email()`. */
interface Check {
  readonly check?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly length?: number;
  readonly size?: number;
  readonly value?: unknown;
  readonly inclusive?: boolean;
  readonly format?: string;
  readonly pattern?: RegExp;
}

/**
 * Converts a schema of zod 4 or zod/mini to JSON Schema (draft 2020-12), for versions before 4.2 and for zod/mini, which
 * do not do so themselves. What JSON Schema cannot express is left out: the schema itself validates the values.
 */
export function zod4ToJsonSchema(schema: Zod4Schema, direction: Direction): Json {
  return new Conversion(direction).convert(schema, "#");
}

/** Formats that JSON Schema has too. */
const FORMATS: Readonly<Record<string, string>> = {
  email: "email",
  url: "uri",
  uuid: "uuid",
  guid: "uuid",
  datetime: "date-time",
  date: "date",
  duration: "duration",
  ipv4: "ipv4",
  ipv6: "ipv6",
};

class Conversion {
  readonly #direction: Direction;
  readonly #places = new Places();

  constructor(direction: Direction) {
    this.#direction = direction;
  }

  convert(schema: Zod4Schema, place: string): Json {
    const { def } = schema._zod;
    return this.#places.within(def, place, () => {
      const described = def.type === "template_literal" ? describePattern(schema) : this.#describe(def, place);
      return schema.description === undefined ? described : { ...described, description: schema.description };
    });
  }

  #describe(def: Definition, place: string): Json {
    const at = (part: Zod4Schema | undefined, ...steps: readonly (string | number)[]) =>
      part === undefined ? {} : this.convert(part, placeIn(place, steps));
    const all = (parts: readonly (Zod4Schema | undefined)[], keyword: string) =>
      parts.map((part, index) => at(part, keyword, index));
    switch (def.type) {
      case "string":
        return describeText(rulesOf(def));
      case "number":
        return describeNumber(rulesOf(def));
      case "bigint":
        return { type: "integer" };
      case "boolean":
      case "success":
        return { type: "boolean" };
      case "date":
        return { type: "string", format: "date-time" };
      case "null":
        return { type: "null" };
      case "never":
        return { not: {} };
      case "literal":
        return literals(def.values ?? []);
      case "enum":
        return enumeration(valuesOfEnum(def.entries ?? {}));
      case "object":
        return this.#describeObject(def, at);
      case "record":
        return {
          type: "object",
          propertyNames: at(def.keyType, "propertyNames"),
          additionalProperties: at(def.valueType, "additionalProperties"),
        };
      case "array":
        return { type: "array", items: at(def.element, "items"), ...bounds("Items", rulesOf(def)) };
      case "set":
        return {
          type: "array",
          uniqueItems: true,
          items: at(def.valueType, "items"),
          ...bounds("Items", rulesOf(def)),
        };
      case "tuple": {
        const { items = [], rest } = def;
        const needed = items.findLastIndex((item) => this.#isRequired(item)) + 1;
        return {
          type: "array",
          prefixItems: all(items, "prefixItems"),
          minItems: needed,
          ...(rest ? { items: at(rest, "items") } : { maxItems: items.length }),
        };
      }
      case "union":
        return { anyOf: all(def.options ?? [], "anyOf") };
      case "intersection":
        return { allOf: all([def.left, def.right], "allOf") };
      case "nullable":
        return { anyOf: [...all([def.innerType], "anyOf"), { type: "null" }] };
      case "default":
        return { ...at(def.innerType), ...defaultOf(def.defaultValue) };
      case "prefault":
        return { ...at(def.innerType), ...(this.#direction === "input" && defaultOf(def.defaultValue)) };
      case "pipe": {
        // The input of a transform is unknown. `preprocess` is one, and is described by what follows it.
        const isOut = this.#direction === "output" || def.in?._zod.def.type === "transform";
        return at(isOut ? def.out : def.in);
      }
      case "lazy":
        return at(def.getter?.());
      default:
        return at(def.innerType);
    }
  }

  #describeObject({ shape = {}, catchall }: Definition, at: (part: Zod4Schema, ...steps: string[]) => Json): Json {
    const members = Object.entries(shape);
    const required = members.filter(([, part]) => this.#isRequired(part)).map(([name]) => name);
    return {
      type: "object",
      properties: Object.fromEntries(members.map(([name, part]) => [name, at(part, "properties", name)])),
      ...(required.length > 0 && { required }),
      ...(catchall && {
        additionalProperties: catchall._zod.def.type === "never" ? false : at(catchall, "additionalProperties"),
      }),
    };
  }

  #isRequired({ _zod }: Zod4Schema): boolean {
    return (this.#direction === "input" ? _zod.optin : _zod.optout) === undefined;
  }
}

/** Returns the rules of a schema, and the schema itself if it is one. */
function rulesOf(def: Definition): readonly Check[] {
  return [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)].filter(({ check }) => check !== undefined);
}

function describeText(rules: readonly Check[]): Json {
  const text: Json = { type: "string", ...bounds("Length", rules) };
  const patterns: RegExp[] = [];
  for (const { check, format = "", pattern } of rules) {
    if (check !== "string_format") continue;
    if (format === "base64") text.contentEncoding = "base64";
    if (Object.hasOwn(FORMATS, format)) text.format ??= FORMATS[format];
    else if (pattern !== undefined) patterns.push(pattern);
  }
  return withPatterns(text, patterns);
}

function describePattern({ _zod: { pattern } }: Zod4Schema): Json {
  return withPatterns({ type: "string" }, pattern === undefined ? [] : [pattern]);
}

function describeNumber(rules: readonly Check[]): Json {
  const number: Json = { type: "number" };
  for (const { check, value, inclusive, format } of rules) {
    if (check === "number_format" && format?.includes("int")) number.type = "integer";
    if (check === "greater_than") number[inclusive ? "minimum" : "exclusiveMinimum"] = value;
    if (check === "less_than") number[inclusive ? "maximum" : "exclusiveMaximum"] = value;
    if (check === "multiple_of") number.multipleOf = value;
  }
  return number;
}

/** Returns the narrowest bounds of a length or a size. */
function bounds(what: string, rules: readonly Check[]): Json {
  const exact = rules.flatMap(({ length, size }) => length ?? size ?? []);
  const least = [...exact, ...rules.flatMap(({ minimum }) => minimum ?? [])];
  const most = [...exact, ...rules.flatMap(({ maximum }) => maximum ?? [])];
  return {
    ...(least.length > 0 && { [`min${what}`]: Math.max(...least) }),
    ...(most.length > 0 && { [`max${what}`]: Math.min(...most) }),
  };
}
