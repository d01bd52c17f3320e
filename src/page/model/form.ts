import { isObject } from "../../protocol/json.js";

/** JSON Schema, or a part of one. */
export interface Schema {
  readonly [key: string]: unknown;
}

/** Kind of a control. `json` is a text area for what has no control of its own. */
export type FieldKind = "text" | "long" | "number" | "integer" | "boolean" | "choice" | "choices" | "group" | "json";

/** Field of a form. */
export interface Field {
  /** Names from the outer object to the value. */
  readonly path: readonly string[];
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** Type of the input, for texts. */
  readonly input: "text" | "date" | "datetime-local" | "email" | "url";
  readonly choices: readonly { readonly value: unknown; readonly title: string }[];
  readonly fields: readonly Field[];
  readonly initial: unknown;
  readonly hint: string;
}

/** What a user has entered, by the path of the field. A text that is empty is no value. */
export type Entered = ReadonlyMap<string, string | boolean | readonly string[]>;

const MAX_DEPTH = 3;

/** Returns the fields of an object's schema. */
export function fieldsOf(schema: Schema, path: readonly string[] = [], initial: unknown = undefined): readonly Field[] {
  const { properties, required } = schema;
  const needed = new Set(Array.isArray(required) ? required : []);
  const given = isObject(initial) ? (initial as Schema) : {};
  return Object.entries(isObject(properties) ? properties : {}).map(([name, part]) =>
    fieldOf(name, isObject(part) ? (part as Schema) : {}, [...path, name], needed.has(name), given[name]),
  );
}

/** True if each value of the schema has a field, so that a form shows all of it. */
export function hasForm(schema: Schema): boolean {
  const others = ["oneOf", "anyOf", "allOf", "$ref", "if", "patternProperties"];
  return isObject(schema.properties) && !others.some((keyword) => keyword in schema);
}

function fieldOf(name: string, schema: Schema, path: readonly string[], isRequired: boolean, given: unknown): Field {
  const { title, description, format, minimum, maximum, minLength, maxLength, pattern } = schema;
  const initial = given ?? schema.default;
  const kind = kindOf(schema, path.length);
  const limits = [
    minimum !== undefined && `at least ${String(minimum)}`,
    maximum !== undefined && `at most ${String(maximum)}`,
    minLength !== undefined && `at least ${String(minLength)} characters`,
    maxLength !== undefined && `at most ${String(maxLength)} characters`,
    pattern !== undefined && `matches ${String(pattern)}`,
    typeof format === "string" && format,
  ];
  return {
    path,
    name,
    title: typeof title === "string" && title !== "" ? title : name,
    description: typeof description === "string" ? description : undefined,
    kind,
    isRequired,
    input: INPUTS[String(format)] ?? "text",
    choices: choicesOf(kind === "choices" ? ((schema.items ?? {}) as Schema) : schema),
    fields: kind === "group" ? fieldsOf(schema, path, initial) : [],
    initial,
    hint: limits.filter((limit) => limit !== false).join(", "),
  };
}

const INPUTS: Readonly<Record<string, Field["input"]>> = { date: "date", email: "email", uri: "url" };

function kindOf(schema: Schema, depth: number): FieldKind {
  if (choicesOf(schema).length > 0) return "choice";
  switch (typeOf(schema)) {
    case "string":
      return typeof schema.maxLength === "number" && schema.maxLength > 200 ? "long" : "text";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "boolean";
    case "array":
      return isObject(schema.items) && choicesOf(schema.items as Schema).length > 0 ? "choices" : "json";
    case "object":
      return depth < MAX_DEPTH && hasForm(schema) ? "group" : "json";
    default:
      return "json";
  }
}

/** Returns the only type of a schema. A type or null is the type. */
function typeOf({ type }: Schema): unknown {
  if (!Array.isArray(type)) return type;
  const others = type.filter((one) => one !== "null");
  return others.length === 1 ? others[0] : undefined;
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf, const: only }: Schema): Field["choices"] {
  if (only !== undefined) return [{ value: only, title: String(only) }];
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({ value, title: String(names[index] ?? value) }));
  }
  const parts = [oneOf, anyOf].find(Array.isArray)?.filter(isObject) as readonly Schema[] | undefined;
  if (parts === undefined || !parts.every((part) => "const" in part)) return [];
  return parts.map(({ const: value, title }) => ({ value, title: String(title ?? value) }));
}

/** Key of a field in what was entered. */
export const keyOf = (path: readonly string[]) => path.join("\u0000");

/** Returns what a form shows at first. */
export function initialOf(fields: readonly Field[]): Map<string, string | boolean | readonly string[]> {
  const entered = new Map<string, string | boolean | readonly string[]>();
  for (const field of fields) {
    const { kind, initial, choices } = field;
    if (kind === "group") for (const [key, value] of initialOf(field.fields)) entered.set(key, value);
    else if (initial !== undefined) entered.set(keyOf(field.path), shownAs(field));
    else if (kind === "choice" && choices.length === 1 && field.isRequired) entered.set(keyOf(field.path), "0");
  }
  return entered;
}

function shownAs({ kind, initial, choices }: Field): string | boolean | readonly string[] {
  const placeOf = (value: unknown) => String(choices.findIndex((choice) => choice.value === value));
  if (kind === "choice") return placeOf(initial);
  if (kind === "choices") return Array.isArray(initial) ? initial.map(placeOf) : [];
  if (kind === "boolean") return initial === true ? "true" : "false";
  return kind === "json" ? JSON.stringify(initial, null, 2) : String(initial);
}

/** Values of a form, with what is wrong by the key of the field. */
export interface Values {
  readonly value: { readonly [name: string]: unknown };
  readonly problems: ReadonlyMap<string, string>;
}

/** Reads the values of what was entered. The server has the last word: only what cannot be sent is a problem here. */
export function valuesOf(fields: readonly Field[], entered: Entered): Values {
  const problems = new Map<string, string>();
  const read = (list: readonly Field[]): { [name: string]: unknown } => {
    const value: { [name: string]: unknown } = {};
    for (const field of list) {
      const key = keyOf(field.path);
      const own = field.kind === "group" ? read(field.fields) : readValue(field, entered.get(key));
      if (own instanceof Problem) problems.set(key, own.text);
      else if (
        own !== undefined &&
        !(field.kind === "group" && !field.isRequired && Object.keys(own as object).length === 0)
      )
        value[field.name] = own;
      else if (field.isRequired && own === undefined) problems.set(key, `${field.title} is required`);
    }
    return value;
  };
  return { value: read(fields), problems };
}

class Problem {
  constructor(readonly text: string) {}
}

function readValue(
  { kind, choices, title, isRequired }: Field,
  entered: string | boolean | readonly string[] | undefined,
): unknown {
  if (kind === "choices") {
    const places = Array.isArray(entered) ? entered : [];
    return places.length === 0 && !isRequired ? undefined : places.map((place) => choices[Number(place)]?.value);
  }
  const text = typeof entered === "string" ? entered : "";
  if (text === "") return kind === "text" && isRequired && entered === "" ? "" : undefined;
  switch (kind) {
    case "choice":
      return choices[Number(text)]?.value;
    case "boolean":
      return text === "true";
    case "number":
    case "integer": {
      const number = Number(text);
      if (!Number.isFinite(number)) return new Problem(`${title} is not a number: enter digits, such as 12`);
      if (kind === "integer" && !Number.isInteger(number))
        return new Problem(`${title} is not whole: enter a number without a fraction`);
      return number;
    }
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        return new Problem(`${title} is not JSON: put texts in double quotes`);
      }
    default:
      return text;
  }
}
